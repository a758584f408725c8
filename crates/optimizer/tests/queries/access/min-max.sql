select min(sent), max(sender) from message;
