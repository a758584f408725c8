select subject from message where sender in (11, 7, 3, 7);
