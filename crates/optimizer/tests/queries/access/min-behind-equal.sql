select min(sent) from message where folder = 7;
