update message set size = (select count(*) from note where note.message = message.id) where folder = 3
