delete from message where sender between 5 and 8 and size > 100
