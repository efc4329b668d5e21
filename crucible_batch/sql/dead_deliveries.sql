-- How many notifications of every endpoint were given up and not sent again.
--
-- in     deliveries(event_id, endpoint); attempts(event_id, endpoint, n, outcome, started_at)
--        $as_of: later attempts do not exist yet
-- out    endpoint, n_deliveries, n_dead: those whose last attempt is dead
-- nulls  none; an endpoint that nothing was owed to has no row
WITH last_attempts AS (
    SELECT event_id, endpoint, arg_max(outcome, n) AS outcome
    FROM attempts
    WHERE started_at <= $as_of
    GROUP BY event_id, endpoint
)

SELECT
    deliveries.endpoint,
    count(*) AS n_deliveries,
    count(*) FILTER (last_attempts.outcome = 'dead') AS n_dead
FROM deliveries
LEFT JOIN last_attempts
    ON deliveries.event_id = last_attempts.event_id
    AND deliveries.endpoint = last_attempts.endpoint
GROUP BY deliveries.endpoint
ORDER BY deliveries.endpoint
