// Delivery list with the selected delivery, or a hint if the gateway has no triggers.

import { deliveryAt, type PageView } from '../address.ts';
import type { Go } from '../feed/hooks.ts';
import type { PageState } from '../feed/page-state.ts';
import { DeliveryList } from './list.tsx';
import { DeliveryPane } from './pane.tsx';

interface DeliveriesViewProps {
  readonly view: PageView;
  readonly state: PageState;
  readonly go: Go;
}

export function DeliveriesView({ view, state, go }: DeliveriesViewProps) {
  // `view.actor` is the address of the selected item: an actor, or here a delivery.
  const id = deliveryAt(view.actor);
  if (state.totals === null) return <p class="empty">Loading …</p>;
  if (state.totals.automation === null)
    return (
      <section class="pane" aria-label="Deliveries">
        <div class="bar">
          <h1>Deliveries</h1>
        </div>
        <p class="empty">
          This gateway has no triggers, so there are no deliveries. Set spec.triggers.directory in
          gateway.yaml.
        </p>
      </section>
    );
  return (
    <>
      <DeliveryList state={state} query={view.query ?? ''} selected={id} go={go} />
      {id === undefined ? (
        <section class="pane" aria-label="Delivery details">
          <p class="empty">Select a delivery to see its content and result.</p>
        </section>
      ) : (
        <DeliveryPane key={id} id={id} state={state} go={go} />
      )}
    </>
  );
}
