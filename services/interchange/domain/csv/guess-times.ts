import { type FileTime, isoTime, type TimeFormat, timeFormat } from './time-text.ts'

/** Column of a file: its heading, the heading or number that chooses it, and its texts without blank ones. */
export type FileColumn = { readonly name: string; readonly choice: string; readonly texts: readonly string[] }

/**
 * Question that the rows of a file leave open: a sentence that names the options, and the names of the options and columns of
 * which one decides it.
 */
export type Question = { readonly text: string; readonly answers: readonly string[] }

/**
 * Times of a file. `start` is the choice of the first time, also if it is an end (`isEnd`), and `end` that of a second one.
 * `hasMeaning`: its heading says which of both it is. `format` is null for ISO 8601. `steps`: the steps between the
 * different times in ms, ascending. `used`: the columns with times.
 */
export type GuessedTimes = {
  readonly start: string | null
  readonly end: string | null
  readonly isEnd: boolean
  readonly hasMeaning: boolean
  readonly hasClock: boolean
  readonly format: string | null
  readonly steps: readonly number[]
  readonly distinct: number
  readonly used: ReadonlySet<FileColumn>
  readonly missing: readonly Question[]
}

const dates = [
  'dd.MM.yyyy',
  'd.M.yyyy',
  'dd/MM/yyyy',
  'MM/dd/yyyy',
  'd/M/yyyy',
  'M/d/yyyy',
  'dd-MM-yyyy',
  'MM-dd-yyyy',
  'yyyy/MM/dd',
]
const clocks = ['', 'HH:mm', 'HH:mm:ss', 'H:mm', 'h:mm a']
const clockText = /^\d{1,2}:\d{2}(?::\d{2})?$/

const join = (date: string, clock: string): string => (clock === '' ? date : `${date} ${clock}`)

/** Forms of times that a file can have. Null is ISO 8601. */
const forms: readonly (readonly [string | null, TimeFormat])[] = [
  [null, isoTime],
  ...dates.flatMap(date =>
    clocks.flatMap(clock => {
      const format = timeFormat(join(date, clock))
      return format === undefined ? [] : [[format.pattern, format] as const]
    }),
  ),
]

const endWords = /\bend|ende\b|\bbis\b|\bfin\b|\bto\b|until|\btot\b|eind|\bstop|hasta|\bfim\b/i
const startWords = /start|begin|\bvon\b|\bfrom\b|\bvan\b|d(?:é|e)but|desde|in(?:í|i)cio|inicio/i

type TimeColumn = {
  readonly column: FileColumn
  readonly choice: string
  readonly texts: readonly string[]
  readonly name: string
}

const msOf = (time: FileTime): number => ('at' in time ? time.at : 'local' in time ? time.local : Number.NaN)

/** Numbers of seconds count as times only under such a heading. */
const isNumber = (texts: readonly string[]): boolean => texts.every(text => /^\d+$/.test(text))

/** Return the forms that all texts have: the first one, and the first one with another order of day and month. */
const formsOf = ({ texts, name }: Pick<TimeColumn, 'texts' | 'name'>): readonly (string | null)[] => {
  if (texts.length === 0 || (isNumber(texts) && !/time|zeit|epoch|unix|date/i.test(name))) return []
  const fitting = forms
    .filter(([, format]) => texts.every(text => format.read(text) !== undefined))
    .map(([pattern]) => pattern)
  const [first] = fitting
  if (first === undefined) return []
  const other = fitting.find(pattern => pattern !== null && first !== null && pattern[0] !== first[0])
  return other === undefined ? [first] : [first, other]
}

/** Join each date with the clock time of another column. */
const joined = (date: FileColumn, clock: FileColumn): TimeColumn => ({
  column: date,
  choice: `${date.choice}+${clock.choice}`,
  name: `${date.name} ${clock.name}`,
  texts: date.texts.map((text, index) => `${text} ${clock.texts[index] ?? ''}`),
})

const isClock = ({ texts }: FileColumn): boolean => texts.length > 0 && texts.every(text => clockText.test(text))

/** Return the columns with times: those with dates, joined with the columns of clock times. */
const timeColumns = (columns: readonly FileColumn[]): readonly TimeColumn[] => {
  const found = columns.filter(column => formsOf(column).length > 0)
  const clockColumns = columns.filter(isClock)
  const [date] = found
  const hasClock = date?.texts.some(text => text.includes(':')) ?? true
  if (date !== undefined && !hasClock && clockColumns.length > 0) return clockColumns.map(clock => joined(date, clock))
  return found.map(column => ({ column, choice: column.choice, name: column.name, texts: column.texts }))
}

const stepsOf = (times: readonly number[]): readonly number[] => {
  const sorted = [...new Set(times)].sort((a, b) => a - b)
  return sorted
    .slice(1)
    .map((time, index) => time - (sorted[index] as number))
    .sort((a, b) => a - b)
}

const noTimes: GuessedTimes = {
  start: null,
  end: null,
  isEnd: false,
  hasMeaning: true,
  hasClock: true,
  format: null,
  steps: [],
  distinct: 0,
  used: new Set(),
  missing: [
    {
      text: 'No column has times of a known form. Name it and its form: --columns start=HEADING --date-format yyyy-MM-dd.',
      answers: ['start', 'end', 'time', 'day'],
    },
  ],
}

/** Return a sentence if the columns of times do not say which is the start and which the end; none if they do. */
const unclearColumns = (found: readonly TimeColumn[], isPair: boolean): readonly Question[] => {
  if (found.length === 1 || (found.length === 2 && isPair)) return []
  const names = found.slice(0, 5).map(({ name }) => `"${name.slice(0, 60)}"`)
  return [
    {
      text: `Several columns have times: ${names.join(', ')}. Name those of the intervals: --columns start=HEADING,end=HEADING.`,
      answers: ['start', 'end', 'time', 'day'],
    },
  ]
}

/** Guess the times of a file by the texts of its columns. An order of day and month that no text proves is missing. */
export const guessTimes = (columns: readonly FileColumn[]): GuessedTimes => {
  const found = timeColumns(columns)
  const [first, second] = found
  if (first === undefined) return noTimes
  const [pattern = null, other] = formsOf(first)
  const format = forms.find(([known]) => known === pattern)?.[1] ?? isoTime
  const read = ({ texts }: TimeColumn): readonly number[] =>
    texts.map(text => msOf(format.read(text) ?? { at: Number.NaN }))
  const starts = read(first)
  const ends = second === undefined ? [] : read(second)
  const isLater = ends.length === starts.length && ends.every((end, index) => end > (starts[index] as number))
  const isPair = second !== undefined && isLater && (startWords.test(first.name) || endWords.test(second.name))
  const isEnd = !isPair && endWords.test(first.name)
  const steps = stepsOf(starts)
  const order = `"${first.texts[0] ?? ''}" can be a day and a month, or a month and a day. Set --date-format '${pattern ?? ''}' or '${other ?? ''}'.`
  return {
    start: first.choice,
    end: isPair ? second.choice : null,
    isEnd,
    hasMeaning: isEnd || startWords.test(first.name),
    hasClock: first.texts.some(text => text.includes(':') || isNumber([text])),
    format: other === undefined ? pattern : null,
    steps,
    distinct: steps.length + 1,
    used: new Set([...columns.filter(isClock), ...found.map(({ column }) => column)]),
    missing: [
      ...(other === undefined ? [] : [{ text: order, answers: ['date-format'] }]),
      ...unclearColumns(found, isPair),
    ],
  }
}
