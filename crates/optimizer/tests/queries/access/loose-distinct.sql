select distinct folder from message;
