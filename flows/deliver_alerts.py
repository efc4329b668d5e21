"""Send the notices that are due. Every few minutes is a good schedule.

python -m flows.deliver_alerts --root STORE
"""

# Annotations are no text here: Prefect pickles a served flow for its process, and text could not be
# resolved there.
from pathlib import Path
from typing import Annotated

import typer
from prefect import flow

from crucible_batch.assemble.deliver import deliver
from crucible_batch.store import Store


@flow(name="deliver-alerts", log_prints=True)
def deliver_alerts(root: Path, workspace: str = "default") -> dict[str, int]:
    """Do one pass of the dispatcher; returns outcome → attempts.

    The outbox plans what is tried again and when, so Prefect retries nothing. The flow run fails
    when an endpoint cannot be sent to, after the others were.
    """
    done = deliver(Store.open(root), workspace)
    for line in done.lines():
        print(line)
    done.check()
    return dict(done.outcomes)


def main(
    root: Annotated[Path, typer.Option(help="Folder of the store.")],
    workspace: Annotated[str, typer.Option(help="Workspace within the store.")] = "default",
) -> None:
    """Run the flow once."""
    deliver_alerts(root, workspace)


if __name__ == "__main__":
    typer.run(main)
