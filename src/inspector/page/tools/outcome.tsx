// Progress and result of a tool call. All texts of the server are rendered as plain text.

import { useEffect, useRef, useState } from 'preact/hooks';
import type { CallProgress, ResultPart, ResultView } from '../../wire/tools.ts';
import { ms, pluralize } from '../format.ts';
import { escapeName, visible } from '../visible-text.ts';
import type { EndedCall, RunningCall, ToolWorkspace } from './workspace.ts';

const TICK_MS = 500;

export function ToolOutcome({ workspace }: { readonly workspace: ToolWorkspace }) {
  const { running, last } = workspace;
  const section = useRef<HTMLElement>(null);
  const wasRunning = useRef(running !== undefined);
  const isRunning = running !== undefined;
  useEffect(() => {
    // The result is below the form and may be out of view.
    if (wasRunning.current !== isRunning) section.current?.scrollIntoView({ block: 'nearest' });
    wasRunning.current = isRunning;
  }, [isRunning]);
  // A string is the reason for a missing result; the headline shows it.
  const end = typeof last?.end === 'string' ? undefined : last?.end;
  return (
    <section class="outcome" aria-label="Result" ref={section}>
      <p class="headline" role="status">
        {running !== undefined ? runningText(running) : last !== undefined && <Headline last={last} />}
      </p>
      {running !== undefined && <Running running={running} />}
      {end !== undefined && end.result !== null && <Result result={end.result} />}
    </section>
  );
}

function runningText({ tool, progress, isCancelled }: RunningCall): string {
  const name = escapeName(tool);
  if (isCancelled) return `Cancelling ${name} …`;
  return `Calling ${name} …${progress === undefined ? '' : ` ${progressText(progress)}`}`;
}

function progressText({ progress, total, message }: CallProgress): string {
  const amount = progress === null ? [] : [total === null ? `${progress}` : `${progress} of ${total}`];
  return [...amount, ...(message === null ? [] : [visible(message)])].join(': ');
}

function Running({ running: { since, progress } }: { readonly running: RunningCall }) {
  const [now, setNow] = useState(performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const hasTotal = progress?.progress != null && progress.total !== null && progress.total > 0;
  return (
    <p>
      {hasTotal ? (
        <progress aria-label="Progress" value={progress.progress ?? 0} max={progress.total ?? 1} />
      ) : (
        <progress aria-label="Progress" />
      )}{' '}
      <span class="aside">{Math.max(0, Math.floor((now - since) / 1000))} s</span>
    </p>
  );
}

function Headline({ last: { tool, end } }: { readonly last: EndedCall }) {
  const name = <strong>{escapeName(tool)}</strong>;
  if (typeof end === 'string')
    return (
      <>
        {name}: <span class="problem">{visible(end)}</span>
      </>
    );
  const { problem, result } = end;
  const took = `took ${ms(end.ms)}`;
  if (problem !== null)
    return (
      <>
        {name}: <span class="problem">error {visible(`${problem.code}: ${problem.message}`)}</span>{' '}
        <span class="aside">{took}</span>
      </>
    );
  return (
    <>
      {name}:{' '}
      {result?.is_error === true ? (
        <span class="problem">the tool reported an error</span>
      ) : (
        <span class="success">succeeded</span>
      )}{' '}
      <span class="aside">
        {took}
        {result !== null && `, ${pluralize(result.parts.length, 'part')}`}
      </span>
    </>
  );
}

function Result({ result }: { readonly result: ResultView }) {
  const { parts, structured, is_error } = result;
  return (
    <div class={is_error ? 'result failed' : 'result'}>
      {parts.map((part, index) => (
        <Part key={index} part={part} />
      ))}
      {structured !== null && (
        <>
          <h3>Structured content</h3>
          <Text text={structured} />
        </>
      )}
      {parts.length === 0 && structured === null && <p class="aside">Empty result.</p>}
    </div>
  );
}

function Text({ text }: { readonly text: string }) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable
  return <pre tabIndex={0}>{visible(text)}</pre>;
}

function Part({ part }: { readonly part: ResultPart }) {
  switch (part.kind) {
    case 'text':
      return <Text text={part.text} />;
    case 'image':
      return <img src={`data:${part.type};base64,${part.data}`} alt={`Result of the tool, ${part.type}`} />;
    case 'audio':
      return (
        // biome-ignore lint/a11y/useMediaCaption: tools provide no captions
        <audio
          controls
          src={`data:${part.type};base64,${part.data}`}
          aria-label={`Audio from the tool, ${part.type}`}
        />
      );
    case 'link':
      return (
        <p>
          Link to a resource: <strong>{escapeName(part.name, 500)}</strong>{' '}
          <code>{escapeName(part.uri, 2_000)}</code>{' '}
          {part.type !== '' && <span class="aside">{escapeName(part.type)}</span>}
          {part.description !== '' && <span class="description aside"> {visible(part.description)}</span>}
        </p>
      );
    case 'resource':
      return (
        <>
          <p>
            Resource <code>{escapeName(part.uri, 2_000)}</code>{' '}
            {part.type !== '' && <span class="aside">{escapeName(part.type)}</span>}
          </p>
          <Text text={part.text} />
        </>
      );
    case 'note':
      return <p class="aside">({visible(part.text)})</p>;
  }
}
