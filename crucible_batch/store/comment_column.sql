COMMENT ON COLUMN $view.$column IS $text;
