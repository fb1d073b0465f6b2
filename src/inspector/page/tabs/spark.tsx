// Small line chart of the last five minutes, with current and highest value.

interface SparkProps {
  readonly title: string;
  readonly values: readonly (number | null)[];
  readonly text: (value: number) => string;
  /** Second line, in another colour. */
  readonly second?: readonly (number | null)[];
}

// Size of the picture, and margins of the line, in the units of the picture.
const WIDTH = 300;
const HEIGHT = 48;
const TOP = 4;
const BOTTOM = 2;

export function Spark({ title, values, text, second }: SparkProps) {
  const highest = Math.max(0, ...values.map((value) => value ?? 0));
  const now = values.at(-1) ?? null;
  const scale = highest === 0 ? 1 : highest;
  const label = `${title}: now ${now === null ? 'unknown' : text(now)}, at most ${text(highest)} within 5 minutes`;
  return (
    <figure class="spark">
      <figcaption>
        <span>{title}</span>
        <span>
          <strong>{now === null ? '–' : text(now)}</strong> <small>max {text(highest)}</small>
        </span>
      </figcaption>
      <svg role="img" aria-label={label} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none">
        <path d={line(values, scale)} />
        {second?.some((value) => value !== null && value > 0) === true && (
          <path d={line(second, scale)} class="second" />
        )}
      </svg>
    </figure>
  );
}

/** Returns the path of the line, with gaps for unknown values. */
function line(values: readonly (number | null)[], scale: number): string {
  let isDrawing = false;
  return values
    .map((value, index) => {
      if (value === null) {
        isDrawing = false;
        return '';
      }
      const x = ((index / Math.max(1, values.length - 1)) * WIDTH).toFixed(1);
      const y = (HEIGHT - BOTTOM - (Math.min(value, scale) / scale) * (HEIGHT - TOP - BOTTOM)).toFixed(1);
      const command = `${isDrawing ? 'L' : 'M'}${x} ${y}`;
      isDrawing = true;
      return command;
    })
    .join('');
}
