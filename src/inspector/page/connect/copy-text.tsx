// Text with a copy button. If the browser denies access to the clipboard, for example without TLS, the text
// is selected instead.

import { useRef, useState } from 'preact/hooks';

interface CopyTextProps {
  /** Description for screen readers. */
  readonly label: string;
  readonly text: string;
}

export function CopyText({ label, text }: CopyTextProps) {
  const element = useRef<HTMLPreElement>(null);
  // `source` is the copied text: the status is hidden when the text has changed.
  const [status, setStatus] = useState({ source: text, message: '' });
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setStatus({ source: text, message: 'Copied' });
    } catch {
      if (element.current !== null) {
        getSelection()?.selectAllChildren(element.current);
        element.current.focus();
      }
      setStatus({ source: text, message: 'Selected; copy with Ctrl+C or ⌘C' });
    }
  };
  return (
    <section class="copy-text" aria-label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable */}
      <pre tabIndex={0} ref={element}>
        {text}
      </pre>
      <p class="commands">
        <button type="button" onClick={() => void copy()}>
          Copy
        </button>
        <span class="feedback" role="status">
          {status.source === text ? status.message : ''}
        </span>
      </p>
    </section>
  );
}
