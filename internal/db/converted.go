package db

// Converted converts the rows of a query, unless it failed.
func Converted[From, To any](rows []From, err error, convert func(From) To) ([]To, error) {
	if err != nil {
		return nil, err
	}
	converted := make([]To, len(rows))
	for i, row := range rows {
		converted[i] = convert(row)
	}
	return converted, nil
}
