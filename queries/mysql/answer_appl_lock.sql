-- name: AnswerApplLock :exec
CALL answer_appl_lock_row(
    sqlc.arg('object_type'),
    sqlc.arg('object_id'),
    sqlc.arg('operator_id')
);
