"""Runs the migrations on the connection that the engine hands over."""

from alembic import context

from citewell.adapters.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    transactional_ddl=False,
)
context.run_migrations()
