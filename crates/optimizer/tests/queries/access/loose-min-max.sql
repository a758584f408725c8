select folder, min(sent), max(sent) from message where folder > 3 group by folder;
