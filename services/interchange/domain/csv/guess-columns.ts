import { dayMs, hourMs, minuteMs } from '../../../domain/interval.ts'
import { unitInHeading, unitOf } from './csv-rules.ts'
import { type FileColumn, type GuessedTimes, guessTimes, type Question } from './guess-times.ts'
import { numberTextOf } from './number-text.ts'

/**
 * Options that the rows of a file propose. `missing`: questions about what the rows do not prove. Without a question, the
 * options suffice. `doubts`: sentences about choices that the user should look at.
 */
export type ColumnGuess = {
  readonly options: Readonly<Record<string, string>>
  readonly missing: readonly Question[]
  readonly doubts: readonly string[]
}

type NumberColumn = FileColumn & { readonly decimal: '.' | ','; readonly values: readonly number[] }

const valueFields = ['value', 'value_export', 'register', 'register_export']

const soldWords = /export|einspeis|inje[ck]|sold|feed.?in|retour|teruglever|surplus|excedent/i
const counterWords =
  /stand\b|z(?:ä|ae)hlerstand|reading|index|register|compteur|counter|cumul|total.?increasing|lectura|leitura/i
/** Energy that a customer sells, or makes and uses: the heading does not say which. */
const producedWords = /produ[ckz]|erzeug|generat|solar|\bpv\b|photovolt|opwek|ertrag/i
const otherWords =
  /^(?:id|nr|no|n°|line|row|zeile)$|price|cost|preis|kosten|betrag|\bamount\b|€|\b(?:eur|usd|gbp|temp|temperature)\b|serial|phone/i

/** Return a unit in a heading that readings cannot have. */
const otherUnitInHeading = (name: string): string | undefined =>
  /(?:^|[^a-z])(mwh|gwh|m³|m3|kvarh|gj|mj)(?:$|[^a-z0-9])/i.exec(name)?.[1]

/** Return a column as numbers; null if a text is none. A comma is the decimal mark only if points do not fit. */
const numbersOf = (column: FileColumn): NumberColumn | null => {
  if (column.texts.length === 0) return null
  for (const decimal of ['.', ','] as const) {
    const numbers = column.texts.map(text => numberTextOf(text, { decimal, thousands: '' }))
    if (numbers.every(text => text !== undefined)) return { ...column, decimal, values: numbers.map(Number) }
  }
  return null
}

const named = ({ name }: FileColumn): string => `"${name.slice(0, maxNameLength)}"`

/** Columns and characters of a heading that a sentence names. */
const [maxNamed, maxNameLength] = [5, 60]

const listed = (columns: readonly FileColumn[]): string =>
  [...columns.slice(0, maxNamed).map(named), ...(columns.length > maxNamed ? ['…'] : [])].join(', ')

const quotedChoice = (choice: string): string => (choice.includes(',') ? `"${choice}"` : choice)

/** Return a number whose mark can separate decimals or thousands; none if another number of the column decides it. */
const unclearNumber = ({ texts }: NumberColumn): string | undefined => {
  const marked = texts.filter(text => /[.,]/.test(text))
  return marked.every(text => /^[1-9]\d{0,2}[.,]\d{3}$/.test(text)) ? marked[0] : undefined
}

const neverFalls = ({ values }: NumberColumn): boolean =>
  values.every((value, index) => index === 0 || value >= (values[index - 1] as number))

/** Cut values into runs before each fall. Null if a value falls and is not below half of the value before it. */
const runsOf = (values: readonly number[]): readonly (readonly number[])[] | null => {
  const runs: number[][] = []
  for (const [index, value] of values.entries()) {
    const before = values[index - 1] ?? 0
    if (index > 0 && value >= before) runs.at(-1)?.push(value)
    else if (index === 0 || value < before / 2) runs.push([value])
    else return null
  }
  return runs
}

/**
 * Return whether a column can be a counter. A counter is far above its steps between two readings. It falls only far
 * down: to the first reading of another meter, after a reset, or for a moment.
 */
const looksLikeCounter = ({ values }: NumberColumn): boolean => {
  const runs = runsOf(values)
  if (runs === null || runs.length > 2 + values.length / 20) return false
  return runs.some(run => {
    const [first = 0, last = 0] = [run[0], run.at(-1)]
    const isLong = run.length > 2 && run.length * 2 >= values.length
    return isLong && last > first && first > 5 * ((last - first) / (run.length - 1))
  })
}

const unitQuestion = (columns: readonly NumberColumn[]): Question => {
  const other = columns.find(({ name }) => otherUnitInHeading(name) !== undefined)
  const text =
    other === undefined
      ? 'No heading names the unit. Set --unit to WH, KWH, W or KW.'
      : `${named(other)} names the unit ${otherUnitInHeading(other.name)}, which readings cannot have. Convert the values, then set --unit to WH, KWH, W or KW.`
  return { text, answers: ['unit'] }
}

type GuessedValues = {
  readonly bought: NumberColumn | null
  readonly sold: NumberColumn | null
  readonly unit: string | null
  readonly unitColumn: FileColumn | null
  readonly missing: readonly Question[]
}

const guessValues = (columns: readonly FileColumn[]): GuessedValues => {
  const unitColumn =
    columns.find(({ texts }) => texts.length > 0 && texts.every(text => unitOf(text) !== undefined)) ?? null
  const numbers = columns.flatMap(column => numbersOf(column) ?? []).filter(({ name }) => !otherWords.test(name))
  const withUnit = numbers.filter(({ name }) => unitInHeading(name) !== undefined)
  const energies = withUnit.filter(({ name }) => unitInHeading(name)?.endsWith('H'))
  const found = energies.length > 0 ? energies : withUnit.length > 0 ? withUnit : numbers
  const [bought, sold] = [
    found.filter(({ name }) => !soldWords.test(name)),
    found.filter(({ name }) => soldWords.test(name)),
  ]
  const missing: Question[] = []
  const only = (candidates: readonly NumberColumn[], field: string): NumberColumn | null => {
    const [first = null, second] = candidates
    if (second === undefined) return first
    missing.push({
      text: `Several columns can be the ${field}: ${listed(candidates)}. Name one, such as --columns '${field}=${quotedChoice(first?.choice ?? '')}'. A plus adds two columns.`,
      answers: [field, field.replace('value', 'register')],
    })
    return null
  }
  const [one, other] = [only(bought, 'value'), only(sold, 'value_export')]
  if (found.length === 0)
    missing.push({
      text: 'No column has numbers that can be the value. Name it: --columns value=HEADING.',
      answers: valueFields,
    })
  const units = new Set([one, other].flatMap(column => (column === null ? [] : (unitInHeading(column.name) ?? []))))
  const [unit = null] = units
  if (units.size > 1)
    missing.push({
      text: `The units of ${listed([one, other].filter(column => column !== null))} differ. Import one column after the other.`,
      answers: valueFields,
    })
  if (withUnit.length === 0 && unitColumn === null && found.length > 0) missing.push(unitQuestion(found))
  return { bought: one, sold: other, unit: unitColumn === null ? unit : null, unitColumn, missing }
}

/** Return the columns of the values, as registers if their headings say so. */
const valueChoices = (
  values: GuessedValues,
  missing: Question[],
): { readonly texts: readonly string[]; readonly isRegister: boolean } => {
  const columns = [values.bought, values.sold].filter(column => column !== null)
  const isNamed = ({ name }: NumberColumn): boolean => counterWords.test(name)
  const isRegister = columns.length > 0 && columns.every(column => isNamed(column) && neverFalls(column))
  const unclear = columns.find(column => !isRegister && (isNamed(column) || looksLikeCounter(column)))
  if (unclear !== undefined)
    missing.push({
      text: `"${unclear.name}" can be a counter or the energy of each interval. Choose --columns 'register=${quotedChoice(unclear.choice)}' for a counter, or value= for energy.`,
      answers: valueFields,
    })
  const produced = columns.find(({ name }) => producedWords.test(name) && !soldWords.test(name))
  if (produced !== undefined)
    missing.push({
      text: `"${produced.name}" can be sold energy or own generation. Set --direction EXPORT or LOCAL.`,
      answers: ['direction', 'value_export', 'register_export'],
    })
  const field = (base: string, column: NumberColumn | null) =>
    column === null ? [] : [`${isRegister ? base.replace('value', 'register') : base}=${quotedChoice(column.choice)}`]
  return { texts: [...field('value', values.bought), ...field('value_export', values.sold)], isRegister }
}

const intervalTexts: ReadonlyMap<number, string> = new Map([
  ...[1, 5, 10, 15, 20, 30].map(minutes => [minutes * minuteMs, `PT${minutes}M`] as const),
  [hourMs, 'PT1H'],
  [dayMs, 'P1D'],
])

/** Return the option of the interval; null if the steps between the times do not prove it. */
const intervalOf = ({ steps, hasClock }: GuessedTimes): string | null => {
  const [shortest] = steps
  const text = shortest === undefined ? undefined : intervalTexts.get(shortest)
  const isUsual = steps.filter(step => step === shortest).length * 2 > steps.length
  return text === undefined || !isUsual || (text === 'P1D') === hasClock ? null : text
}

/** Return a sentence about rows of one time, and about the column of words that tells them apart. */
const mixedRows = (columns: readonly FileColumn[], times: GuessedTimes, rowCount: number): readonly Question[] => {
  // In a doubled hour of the clock, some times come twice.
  if (times.distinct * 1.5 > rowCount || times.distinct === 0) return []
  const answers = ['where', 'sum', 'device', 'device_reference', 'direction']
  for (const { name, choice, texts } of columns) {
    const words = [...new Set(texts)]
    const [first = ''] = words
    const isNumber = numberTextOf(first, { decimal: ',', thousands: '' }) !== undefined
    if (words.length < 2 || words.length > 8 || texts.length !== rowCount || isNumber) continue
    const choices = words.map(word => `--where '${choice}=${word}'`).join(' or ')
    return [
      {
        text: `Rows of one time differ in "${name}". Read one kind: ${choices}. If the texts are meters, set --columns 'device_reference=${quotedChoice(choice)}'.`,
        answers,
      },
    ]
  }
  return [
    { text: 'Several rows have one time. Name the column of the meters: --columns device_reference=HEADING.', answers },
  ]
}

/**
 * Guess the columns, the unit and the interval of a file by its first rows. A guess is only a proposal: what two options can
 * mean is in `missing`, never decided.
 * Source: docs/rules/imports.md #suggestion.
 */
export const guessColumns = (header: readonly string[], rows: readonly (readonly string[])[]): ColumnGuess => {
  const all = [header, ...rows]
  const unnamed = columnsOf(
    header.map(() => ''),
    all,
  )
  // A header has no time. So a first row with one is data, and its columns have numbers.
  const hasHeader = guessTimes(unnamed).start === null
  return guessNamed(hasHeader ? columnsOf(header, rows) : unnamed, hasHeader ? rows.length : all.length)
}

const columnsOf = (header: readonly string[], rows: readonly (readonly string[])[]): readonly FileColumn[] =>
  header.map((heading, index) => {
    const name = heading.trim()
    const isUnique = !/^$|["+]/.test(name) && header.filter(other => other.trim() === name).length === 1
    const texts = rows.map(cells => (cells[index] ?? '').trim()).filter(text => text !== '')
    return { name, choice: isUnique ? name : String(index + 1), texts }
  })

const guessNamed = (columns: readonly FileColumn[], rowCount: number): ColumnGuess => {
  const times = guessTimes(columns)
  const values = guessValues(columns.filter(column => !times.used.has(column)))
  const missing = [...times.missing, ...values.missing]
  const { texts, isRegister } = valueChoices(values, missing)
  const isSingle = times.end === null && times.start !== null
  const interval = isSingle && !isRegister ? intervalOf(times) : null
  if (isSingle && !isRegister && interval === null)
    missing.push({
      text: 'The steps between the times do not prove the length of an interval. Set --interval, such as PT15M or P1D.',
      answers: ['interval', 'end'],
    })
  const numbers = [values.bought, values.sold].filter(column => column !== null)
  for (const number of numbers.flatMap(column => unclearNumber(column) ?? []))
    missing.push({
      text: `"${number}" can have decimals or thousands. Set --decimal '.' or ',', and --thousands for the other mark.`,
      answers: ['decimal', 'thousands'],
    })
  const used = new Set<FileColumn>([...times.used, ...numbers])
  missing.push(
    ...mixedRows(
      columns.filter(column => !used.has(column)),
      times,
      rowCount,
    ),
  )
  const time =
    times.start === null ? [] : [`${isRegister ? 'time' : times.isEnd ? 'end' : 'start'}=${quotedChoice(times.start)}`]
  const end = times.end === null || isRegister ? [] : [`end=${quotedChoice(times.end)}`]
  const unit = values.unitColumn === null ? [] : [`unit=${quotedChoice(values.unitColumn.choice)}`]
  return {
    options: {
      columns: [...time, ...end, ...texts, ...unit].join(','),
      ...(values.unit === null ? {} : { unit: values.unit }),
      ...(times.format === null ? {} : { 'date-format': times.format }),
      ...(interval === null ? {} : { interval }),
      ...(numbers.some(({ decimal }) => decimal === ',') ? { decimal: ',' } : {}),
    },
    missing,
    doubts:
      interval === null || interval === 'P1D' || times.hasMeaning
        ? []
        : [
            `The time is taken as the ${times.isEnd ? 'end' : 'start'} of the interval. If it is the end, name its column end=.`,
          ],
  }
}
