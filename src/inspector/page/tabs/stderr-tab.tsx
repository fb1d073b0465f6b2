// The last lines a server wrote on stderr. Asked for while somebody looks; the feed carries no text of servers.

import type { ServerDetails } from '../../../http/api/server-shapes.ts';
import type { Asked } from '../feed/hooks.ts';

export function StderrTab({ asked }: { readonly asked: Asked<ServerDetails> }) {
  if (asked.problem !== undefined) return <p class="empty">{asked.problem}</p>;
  if (asked.value === undefined) return <p class="empty">Asking …</p>;
  const { stderr, last_error, started_at } = asked.value;
  return (
    <div class="scroll stderr">
      {last_error !== null && (
        <p class="error">
          <strong>{last_error.code}</strong> {last_error.message}
        </p>
      )}
      {stderr.length === 0 ? (
        <p class="empty">
          Nothing on stderr: the server has written nothing there since the gateway has started
          {started_at === null && ', and it is not running'}.
        </p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
        <pre tabIndex={0}>{stderr.join('\n')}</pre>
      )}
    </div>
  );
}
