-- What the try-out of docker-compose.yml has on PostgreSQL: people who hold locks for some time. Twice is as good as once.
CALL applock.get_appl_lock('customer', '42', 'jdoe', 'sales', 604800);
CALL applock.get_appl_lock('customer', '43', 'jdoe', 'sales', 172800);
CALL applock.get_appl_lock('customer', '1017', 'asmith', 'service', 129600);
CALL applock.get_appl_lock('order', '88121', 'bjones', 'billing', 259200);
CALL applock.get_appl_lock('invoice', '2024-0917', 'bjones', 'billing', 2700);
CALL applock.get_appl_lock('contract', 'K-331', 'cwu', 'legal', 2592000);
CALL applock.note_appl_lock('customer', '42', 'jdoe', p_note => 'waits for documents until Friday');
CALL applock.ask_appl_lock('customer', '42', 'asmith', 'service', p_client_id => 'try', p_message => 'the customer is on the phone');
