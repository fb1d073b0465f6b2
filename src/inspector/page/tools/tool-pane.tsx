// The chosen tool: what its server says of it, and the form for its arguments.

import { useMemo } from 'preact/hooks';
import type { ToolDetails } from '../../wire/tool-wire.ts';
import { useAsked } from '../feed/hooks.ts';
import { tool } from '../feed/tool-calls.ts';
import { visible, visibleName } from '../visible-text.ts';
import { FieldView } from './field-view.tsx';
import { fieldsOf } from './fields.ts';
import { jsonOf, readForm, readJson } from './read-form.ts';
import type { ToolBench } from './tool-bench.ts';

const REFRESH_MS = 10_000;

interface ToolPaneProps {
  readonly bench: ToolBench;
  readonly name: string;
  readonly mayCall: boolean;
}

export function ToolPane({ bench, name, mayCall }: ToolPaneProps) {
  const { server } = bench;
  const { value, problem } = useAsked(`tool ${server} ${name}`, () => tool(server, name), REFRESH_MS);
  return (
    <section class="tool" aria-label="Tool">
      <h2>{visibleName(name, 256)}</h2>
      {value === undefined && <p class="aside">{problem ?? 'Asking …'}</p>}
      {value !== undefined && (
        <>
          {value.hints.length > 0 && <p class="aside">The server says that it {value.hints.join(', ')}.</p>}
          {value.description !== '' && (
            <p class="said">
              <bdi>{visible(value.description)}</bdi>
            </p>
          )}
          {mayCall ? (
            <CallForm bench={bench} tool={value} />
          ) : (
            <Schema schema={value.input_schema} problem={value.schema_problem} />
          )}
        </>
      )}
    </section>
  );
}

interface CallFormProps {
  readonly bench: ToolBench;
  readonly tool: ToolDetails;
}

function CallForm({ bench, tool }: CallFormProps) {
  const { name, schema_problem } = tool;
  // The details are asked for again and again, and are mostly the same.
  const text = JSON.stringify(tool.input_schema);
  const schema = useMemo(() => JSON.parse(text) as unknown, [text]);
  const fields = useMemo(() => (schema === null ? undefined : fieldsOf(schema)), [schema]);
  const form = bench.formOf(name);
  const json = fields === undefined ? (form.json ?? '{}') : form.json;
  const read =
    json === undefined && fields !== undefined
      ? readForm(schema, fields, form.drafts)
      : readJson(schema ?? true, json ?? '{}');
  const isRunning = bench.running !== undefined;
  const problems = form.isTried ? read.problems : new Map<string, string>();
  const general = problems.get('');
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    if (isRunning) return;
    const { currentTarget } = event;
    bench.change(name, { isTried: true });
    if (read.args !== undefined) void bench.call(name, read.args);
    // The first that is wrong, once it is marked.
    else
      requestAnimationFrame(() =>
        (currentTarget as HTMLElement | null)?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(),
      );
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
      (event.currentTarget as HTMLFormElement).requestSubmit();
  };
  const toJson = () =>
    bench.change(name, { json: fields === undefined ? '{}' : jsonOf(fields, form.drafts) });
  return (
    <form class="tool-form" aria-label="Arguments" noValidate onSubmit={onSubmit} onKeyDown={onKeyDown}>
      {schema_problem !== null && <p class="aside">There is no form: {schema_problem}.</p>}
      {json === undefined &&
        fields?.map((field, at) => (
          <FieldView
            key={field.name}
            id={`arg-${at}`}
            field={field}
            drafts={form.drafts}
            problems={problems}
            give={(key, draft) => bench.give(name, key, draft)}
          />
        ))}
      {json === undefined && fields?.length === 0 && <p class="aside">It takes no arguments.</p>}
      {json !== undefined && (
        <div class="field">
          <label for="arg-json">Arguments as JSON</label>
          <textarea
            id="arg-json"
            rows={6}
            spellcheck={false}
            value={json}
            aria-invalid={general !== undefined}
            aria-describedby={general === undefined ? undefined : 'arg-json-problem'}
            onInput={(event) => bench.change(name, { json: event.currentTarget.value })}
          />
        </div>
      )}
      {general !== undefined && (
        <p class="problem" id="arg-json-problem">
          {visible(general)}
        </p>
      )}
      {read.unchecked.length > 0 && (
        <p class="aside">
          Left to the server to check: {read.unchecked.map((each) => visibleName(each, 40)).join(', ')}.
        </p>
      )}
      <p class="commands">
        <button type="submit" class="main" aria-disabled={isRunning}>
          Call
        </button>
        {isRunning && (
          <button type="button" onClick={() => bench.cancel()}>
            Cancel
          </button>
        )}
        {fields !== undefined && (
          <button
            type="button"
            onClick={() => (json === undefined ? toJson() : bench.change(name, { json: undefined }))}
          >
            {json === undefined ? 'As JSON' : 'As a form'}
          </button>
        )}
        <button type="button" onClick={() => bench.clear(name)}>
          Reset
        </button>
        {form.isTried && read.problems.size > 0 && (
          <span class="problem" role="alert">
            Not called: {read.problems.size === 1 ? 'something is' : `${read.problems.size} things are`} to be
            put right first.
          </span>
        )}
      </p>
    </form>
  );
}

interface SchemaProps {
  readonly schema: unknown;
  readonly problem: string | null;
}

function Schema({ schema, problem }: SchemaProps) {
  if (schema === null) return <p class="aside">{problem}</p>;
  return (
    <details>
      <summary>the schema of its arguments</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard */}
      <pre tabIndex={0}>{visible(JSON.stringify(schema, null, 2))}</pre>
    </details>
  );
}
