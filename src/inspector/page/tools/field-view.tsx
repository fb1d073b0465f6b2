// Shows a field of a tool's form: label, input, problem, description and hints. A group contains the fields
// of an object.

import { escapeName, visible } from '../visible-text.ts';
import {
  type ArgumentField,
  type FieldDraft,
  type FieldDrafts,
  type GroupField,
  keyOf,
  type LeafField,
} from './fields.ts';

/** Maximum length of a displayed name, in characters. */
const MAX_NAME = 100;

interface FieldViewProps {
  /** Element id, derived from the position, because argument names are untrusted. */
  readonly id: string;
  readonly field: ArgumentField;
  readonly drafts: FieldDrafts;
  readonly problems: ReadonlyMap<string, string>;
  setDraft(key: string, draft: FieldDraft): void;
}

export function FieldView({ field, ...props }: FieldViewProps) {
  return field.kind === 'group' ? <Group field={field} {...props} /> : <Leaf field={field} {...props} />;
}

function Group({ field, id, problems, ...props }: FieldViewProps & { readonly field: GroupField }) {
  const problem = problems.get(keyOf(field.path));
  return (
    <fieldset class="field" aria-describedby={describedBy(id, field, problem)}>
      <legend>{escapeName(field.name, MAX_NAME)}</legend>
      <FieldHelp id={id} field={field} problem={problem} />
      {field.fields.map((inner, index) => (
        <FieldView key={inner.name} id={`${id}-${index}`} field={inner} problems={problems} {...props} />
      ))}
    </fieldset>
  );
}

interface LeafProps extends Omit<FieldViewProps, 'field'> {
  readonly field: LeafField;
}

function Leaf({ field, id, drafts, problems, setDraft }: LeafProps) {
  const key = keyOf(field.path);
  const problem = problems.get(key);
  const draft = drafts.get(key) ?? field.initial;
  return (
    <div class="field">
      <span class="head">
        <label for={id}>{escapeName(field.name, MAX_NAME)}</label>
        {field.isRequired && <span class="aside">required</span>}
      </span>
      <Input
        id={id}
        field={field}
        draft={draft}
        problem={problem}
        setDraft={(changed) => setDraft(key, changed)}
      />
      <FieldHelp id={id} field={field} problem={problem} />
    </div>
  );
}

interface InputProps {
  readonly id: string;
  readonly field: LeafField;
  readonly draft: FieldDraft | undefined;
  readonly problem: string | undefined;
  setDraft(draft: FieldDraft): void;
}

function Input({ id, field, draft, problem, setDraft }: InputProps) {
  const common = {
    id,
    'aria-required': field.isRequired,
    'aria-invalid': problem !== undefined,
    'aria-describedby': describedBy(id, field, problem),
  };
  const text = draft === undefined ? '' : String(draft);
  switch (field.kind) {
    case 'flag':
      return (
        <span class="flag">
          <input
            type="checkbox"
            id={id}
            aria-invalid={problem !== undefined}
            aria-describedby={describedBy(id, field, problem)}
            checked={draft === true}
            onChange={(event) => setDraft(event.currentTarget.checked)}
          />
          <span class="aside">
            {draft === undefined && !field.isRequired ? 'omitted' : String(draft === true)}
          </span>
        </span>
      );
    case 'choice':
      return (
        <select {...common} value={text} onChange={(event) => setDraft(event.currentTarget.value)}>
          <option value="">{field.isRequired ? 'select' : 'omitted'}</option>
          {field.choices.map(({ label }, index) => (
            <option key={index} value={String(index)}>
              {escapeName(label)}
            </option>
          ))}
        </select>
      );
    case 'number':
      return (
        <input
          {...common}
          type="text"
          inputMode={field.isWhole ? 'numeric' : 'decimal'}
          autocomplete="off"
          value={text}
          onInput={(event) => setDraft(event.currentTarget.value)}
        />
      );
    default:
      return (
        <textarea
          {...common}
          rows={field.kind === 'text' ? 1 : 3}
          spellcheck={false}
          value={text}
          onInput={(event) => setDraft(event.currentTarget.value)}
        />
      );
  }
}

interface FieldHelpProps {
  readonly id: string;
  readonly field: ArgumentField;
  readonly problem: string | undefined;
}

/** Problem, description and hints under a field. */
function FieldHelp({ id, field, problem }: FieldHelpProps) {
  const hints = hintsOf(field);
  return (
    <>
      {problem !== undefined && (
        <p class="problem" id={`${id}-problem`}>
          <bdi>{escapeName(field.name, MAX_NAME)}</bdi> {visible(problem)}
        </p>
      )}
      {(field.description !== '' || hints !== '') && (
        <p class="aside description" id={`${id}-words`}>
          <bdi>{visible(field.description)}</bdi>
          {hints !== '' && <bdi class="hints">{visible(hints)}</bdi>}
        </p>
      )}
    </>
  );
}

function hintsOf(field: ArgumentField): string {
  const kind = field.kind === 'lines' ? ['one per line'] : field.kind === 'json' ? ['as JSON'] : [];
  return [...kind, ...field.hints].join(', ');
}

function describedBy(id: string, field: ArgumentField, problem: string | undefined): string | undefined {
  const hasHelp = field.description !== '' || hintsOf(field) !== '';
  const ids = [...(problem === undefined ? [] : [`${id}-problem`]), ...(hasHelp ? [`${id}-words`] : [])];
  return ids.length === 0 ? undefined : ids.join(' ');
}
