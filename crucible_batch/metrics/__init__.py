"""The room of metrics: declarations, the engine that scores them, and the frames they read."""
