select sent from message where sender = 5 and id > 900000;
