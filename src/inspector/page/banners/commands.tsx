// Command buttons. Errors are shown as the gateway reports them.

import { useState } from 'preact/hooks';
import { sendCommand } from '../feed/api.ts';

interface CommandsProps {
  /** Label, path, and text after success. */
  readonly commands: readonly (readonly [label: string, path: string, result?: string])[];
}

export function Commands({ commands }: CommandsProps) {
  const [busy, setBusy] = useState<string>();
  const [message, setMessage] = useState('');
  const run = async (label: string, path: string, result = 'done'): Promise<void> => {
    setBusy(path);
    setMessage('');
    try {
      await sendCommand(path);
      setMessage(`${label}: ${result}`);
    } catch (error) {
      setMessage((error as Error).message);
    } finally {
      setBusy(undefined);
    }
  };
  return (
    <span class="commands">
      {commands.map(([label, path, result]) => (
        <button
          type="button"
          key={path}
          disabled={busy !== undefined}
          onClick={() => void run(label, path, result)}
        >
          {busy === path ? `${label} …` : label}
        </button>
      ))}
      <span class="feedback" role="status">
        {message}
      </span>
    </span>
  );
}
