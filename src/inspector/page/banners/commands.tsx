// Start, stop, reload, where the gateway file allows it. What went wrong is said in the gateway's words.

import { useState } from 'preact/hooks';
import { command } from '../feed/api.ts';

interface CommandsProps {
  /** Label and path of each, and what is so when the gateway has taken it. */
  readonly commands: readonly (readonly [label: string, path: string, done?: string])[];
}

export function Commands({ commands }: CommandsProps) {
  const [busy, setBusy] = useState<string>();
  const [told, setTold] = useState('');
  const run = async (label: string, path: string, done = 'done'): Promise<void> => {
    setBusy(path);
    setTold('');
    try {
      await command(path);
      setTold(`${label}: ${done}`);
    } catch (error) {
      setTold((error as Error).message);
    } finally {
      setBusy(undefined);
    }
  };
  return (
    <span class="commands">
      {commands.map(([label, path, done]) => (
        <button
          type="button"
          key={path}
          disabled={busy !== undefined}
          onClick={() => void run(label, path, done)}
        >
          {busy === path ? `${label} …` : label}
        </button>
      ))}
      <span class="told" role="status">
        {told}
      </span>
    </span>
  );
}
