select size from message force index (i_type) where msg_type = 'delivery report';
