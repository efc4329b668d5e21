COMMENT ON VIEW $view IS $text;
