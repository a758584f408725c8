delete n from note n join message m on m.id = n.message where m.sender = 7
