SET SESSION sql_mode = @applock_sql_mode;
