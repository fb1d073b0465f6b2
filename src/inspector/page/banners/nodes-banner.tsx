// Nodes that differ in what should be the same everywhere, or of which nothing new is known.

import { NODES } from '../address.ts';
import type { Go } from '../feed/hooks.ts';
import type { PageState } from '../feed/store.ts';
import { Link } from '../link.tsx';
import { differingWords } from '../node-words.ts';

export function NodesBanner({ state, go }: { readonly state: PageState; readonly go: Go }) {
  const cluster = state.totals?.cluster;
  if (cluster == null) return null;
  const words = differingWords(cluster.nodes);
  const link = (
    <Link to={{ actor: NODES, tab: 'log' }} go={go}>
      Which ones
    </Link>
  );
  return (
    <>
      {words.length > 0 && (
        <p class="banner warn" role="status" id="nodes-differ">
          <strong>{`The nodes differ in their ${words.join(' and ')}.`}</strong> {link}
        </p>
      )}
      {cluster.stale_seconds !== undefined && (
        <p class="banner bad" role="alert" id="nodes-stale">
          <strong>The database does not answer.</strong> The nodes are those that were there last. {link}
        </p>
      )}
    </>
  );
}
