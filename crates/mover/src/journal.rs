//! What was found and where it stands: `SQLite` on node-local storage, every commit durable.
