// The list of deliveries, and beside it the one that is chosen; where the gateway has none, why.

import { deliveryAt, type View } from '../address.ts';
import type { Go } from '../feed/hooks.ts';
import type { PageState } from '../feed/store.ts';
import { DeliveryList } from './delivery-list.tsx';
import { DeliveryPane } from './delivery-pane.tsx';

interface DeliveriesViewProps {
  readonly view: View;
  readonly state: PageState;
  readonly go: Go;
}

export function DeliveriesView({ view, state, go }: DeliveriesViewProps) {
  const id = deliveryAt(view.actor);
  if (state.totals === null) return <p class="empty">Asking …</p>;
  if (state.totals.automation === null)
    return (
      <section class="pane" aria-label="Deliveries">
        <div class="bar">
          <h1>Deliveries</h1>
        </div>
        <p class="empty">
          This gateway has no triggers, so nothing is delivered: spec.triggers.directory in gateway.yaml names
          the folder of their files.
        </p>
      </section>
    );
  return (
    <>
      <DeliveryList state={state} query={view.query ?? ''} chosen={id} go={go} />
      {id === undefined ? (
        <section class="pane" aria-label="The delivery">
          <p class="empty">Choose one to see what came in it, and what came of it.</p>
        </section>
      ) : (
        <DeliveryPane key={id} id={id} state={state} go={go} />
      )}
    </>
  );
}
