-- How often the answer policy decided what, in the window of a scan and in the days before it.
--
-- in     decisions(surface, verdict, created_at)
--        $as_of, $window_start, $reference_start: times; each side is open below, closed above
-- out    side ('current' or 'reference'), surface, verdict, n
-- nulls  none; a verdict that was not given has no row
SELECT
    CASE WHEN created_at > $window_start THEN 'current' ELSE 'reference' END AS side,
    surface,
    verdict,
    count(*) AS n
FROM decisions
WHERE created_at > $reference_start AND created_at <= $as_of
GROUP BY side, surface, verdict
ORDER BY side, surface, verdict
