// Explains how to allow tool calls on this page: the setting, the restart, and the command that prints a link
// with the operator's rights. The texts can be copied and work as they are.

import type { ConnectFacts } from '../../wire/tools.ts';
import { CopyText } from '../connect/copy-text.tsx';
import { isOwnMachine } from '../connect/entries.ts';
import { fetchConnectFacts } from '../feed/api.ts';
import { usePolled } from '../feed/hooks.ts';
import { HOME } from '../home.ts';
import { isWatching } from '../rights.ts';

const REFRESH_MS = 10_000;
const SETTING = 'inspector:\n  commands: true';

export function CallSetup() {
  const { value } = usePolled('connect', fetchConnectFacts, REFRESH_MS);
  if (value === undefined) return null;
  const gatewayUrl = location.origin + HOME.replace(/\/inspector$/, '');
  const linkCommand = `${operatorCommand(value)} inspector --url ${gatewayUrl}`;
  if (isWatching())
    return (
      <div class="empty call-setup">
        <p>This page is read only. To call tools here, run this command and open the printed link:</p>
        <CopyText label="Command that prints the link" text={linkCommand} />
      </div>
    );
  return (
    <div class="empty call-setup">
      <p>Calls from this page are off. To call tools here:</p>
      <ol>
        <li>
          Add to{' '}
          {value.gateway_file === null ? 'a gateway file (--config)' : <code>{value.gateway_file}</code>}, or
          to the key <code>inspector</code> that it already has:
          <CopyText label="Setting" text={SETTING} />
        </li>
        <li>Restart the gateway.</li>
        {value.needs_key ? (
          <li>Reload this page.</li>
        ) : (
          <li>
            Run this command and open the printed link:
            <CopyText label="Command that prints the link" text={linkCommand} />
          </li>
        )}
      </ol>
    </div>
  );
}

/** Returns the command of the gateway's program, quoted for a shell. */
function operatorCommand({ program }: ConnectFacts): string {
  const [script = ''] = program.args;
  if (!isOwnMachine(location.hostname)) return 'actor-gateway';
  return [program.command, script].map((word) => (/[^\w./:\\-]/.test(word) ? `"${word}"` : word)).join(' ');
}
