// Shows the description of the selected tool, and a form that calls it. Without the right to call
// tools, shows the input schema instead of the form.

import { useMemo } from 'preact/hooks';
import type { ToolDetails } from '../../wire/tools.ts';
import { usePolled } from '../feed/hooks.ts';
import { fetchTool } from '../feed/tool-calls.ts';
import { pluralize } from '../format.ts';
import { escapeName, visible } from '../visible-text.ts';
import { FieldView } from './field-view.tsx';
import { fieldsOf } from './fields.ts';
import { jsonOf, parseForm, parseJson } from './parse-form.ts';
import type { ToolWorkspace } from './workspace.ts';

const REFRESH_MS = 10_000;

interface ToolPaneProps {
  readonly workspace: ToolWorkspace;
  readonly name: string;
  readonly mayCall: boolean;
}

export function ToolPane({ workspace, name, mayCall }: ToolPaneProps) {
  const { server } = workspace;
  const { value, problem } = usePolled(`tool ${server} ${name}`, () => fetchTool(server, name), REFRESH_MS);
  return (
    <section class="tool" aria-label="Tool">
      <h2>{escapeName(name, 256)}</h2>
      {value === undefined && <p class="aside">{problem ?? 'Loading …'}</p>}
      {value !== undefined && (
        <>
          {value.hints.length > 0 && <p class="aside">Hints of the server: {value.hints.join(', ')}.</p>}
          {value.description !== '' && (
            <p class="description">
              <bdi>{visible(value.description)}</bdi>
            </p>
          )}
          {mayCall ? (
            <CallForm workspace={workspace} tool={value} />
          ) : (
            <Schema schema={value.input_schema} problem={value.schema_problem} />
          )}
        </>
      )}
    </section>
  );
}

interface CallFormProps {
  readonly workspace: ToolWorkspace;
  readonly tool: ToolDetails;
}

function CallForm({ workspace, tool }: CallFormProps) {
  const { name, schema_problem } = tool;
  // Returns the same object until the schema changes.
  const text = JSON.stringify(tool.input_schema);
  const schema = useMemo(() => JSON.parse(text) as unknown, [text]);
  const fields = useMemo(() => (schema === null ? undefined : fieldsOf(schema)), [schema]);
  const form = workspace.formOf(name);
  // Text of the arguments. Undefined while the form is shown. Arguments without fields can only be entered as
  // JSON.
  const json = fields === undefined ? (form.json ?? '{}') : form.json;
  const result =
    json === undefined && fields !== undefined
      ? parseForm(schema, fields, form.drafts)
      : parseJson(schema ?? true, json ?? '{}');
  const isRunning = workspace.running !== undefined;
  const problems = form.wasSubmitted ? result.problems : new Map<string, string>();
  const general = problems.get('');
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    if (isRunning) return;
    const { currentTarget } = event;
    workspace.change(name, { wasSubmitted: true });
    if (result.args !== undefined) void workspace.call(name, result.args);
    // Focuses the first invalid field, after the next render has marked it.
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
    workspace.change(name, { json: fields === undefined ? '{}' : jsonOf(fields, form.drafts) });
  return (
    <form class="tool-form" aria-label="Arguments" noValidate onSubmit={onSubmit} onKeyDown={onKeyDown}>
      {schema_problem !== null && <p class="aside">No form: {schema_problem}.</p>}
      {json === undefined &&
        fields?.map((field, index) => (
          <FieldView
            key={field.name}
            id={`arg-${index}`}
            field={field}
            drafts={form.drafts}
            problems={problems}
            setDraft={(key, draft) => workspace.setDraft(name, key, draft)}
          />
        ))}
      {json === undefined && fields?.length === 0 && <p class="aside">No arguments.</p>}
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
            onInput={(event) => workspace.change(name, { json: event.currentTarget.value })}
          />
        </div>
      )}
      {general !== undefined && (
        <p class="problem" id="arg-json-problem">
          {visible(general)}
        </p>
      )}
      {result.unchecked.length > 0 && (
        <p class="aside">
          Checked by the server only: {result.unchecked.map((each) => escapeName(each, 40)).join(', ')}.
        </p>
      )}
      <p class="commands">
        <button type="submit" class="main" aria-disabled={isRunning}>
          Call
        </button>
        {isRunning && (
          <button type="button" onClick={() => workspace.cancel()}>
            Cancel
          </button>
        )}
        {fields !== undefined && (
          <button
            type="button"
            onClick={() => (json === undefined ? toJson() : workspace.change(name, { json: undefined }))}
          >
            {json === undefined ? 'As JSON' : 'As form'}
          </button>
        )}
        <button type="button" onClick={() => workspace.clear(name)}>
          Reset
        </button>
        {form.wasSubmitted && result.problems.size > 0 && (
          <span class="problem" role="alert">
            Not called: correct {pluralize(result.problems.size, 'problem')} first.
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
      <summary>schema of the arguments</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be focusable */}
      <pre tabIndex={0}>{visible(JSON.stringify(schema, null, 2))}</pre>
    </details>
  );
}
