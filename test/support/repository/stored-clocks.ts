/** Clock that gives a time: of the database (`clock_timestamp()`), or of the service (a parameter). */
type Clock = 'database' | 'service'

/** A source file with SQL statements. */
export type SqlSource = { readonly path: string; readonly text: string }

/** Clocks that write or are compared with each time column, by `table.column`, with the files. */
export type ColumnClocks = ReadonlyMap<string, Readonly<Record<Clock, readonly string[]>>>

const databaseToken = 'DATABASE_CLOCK'
const serviceToken = 'SERVICE_CLOCK'
const databaseClock =
  /\b(?:clock_timestamp|now|statement_timestamp|transaction_timestamp)\s*\(\)|\bcurrent_timestamp\b/g

/** Return the end of a template or of an embedded expression that begins at `from`. */
const endOf = (text: string, from: number, close: '`' | '}'): number => {
  for (let index = from; index < text.length; index += 1) {
    if (text[index] === '\\') index += 1
    else if (text[index] === close) return index
    else if (text[index] === '`') index = endOf(text, index + 1, '`')
    else if (text[index] === '{' && (close === '}' || text[index - 1] === '$')) index = endOf(text, index + 1, '}')
  }
  return text.length
}

/** Names of constants that are a time of the service, such as `const now = toTimestamp(at)`. */
const serviceNames = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/const (\w+) = toTimestamp(?:OrNull)?\(/g)].map(([, name = '']) => name))

/** Replace the embedded expressions of a template: times by tokens, fragments of SQL by their text. */
const expand = (template: string, source: string, depth = 0): string => {
  let expanded = ''
  for (let index = 0; index < template.length; index += 1) {
    if (!template.startsWith('${', index)) {
      expanded += template[index]
      continue
    }
    const end = endOf(template, index + 2, '}')
    const expression = template.slice(index + 2, end).trim()
    index = end
    if (
      /\btoTimestamp(OrNull)?\(/.test(expression) ||
      serviceNames(source).has(/\b\w{1,60}$/.exec(expression)?.[0] ?? '')
    )
      expanded += serviceToken
    else expanded += fragmentOf(expression, source, depth) ?? 'PARAMETER'
  }
  return expanded.replace(databaseClock, databaseToken)
}

const fragmentOf = (name: string, source: string, depth: number): string | null => {
  const found = depth > 3 || !/^\w+$/.test(name) ? null : new RegExp(`const ${name} = sql\``).exec(source)
  if (found === null) return null
  const from = found.index + found[0].length
  return expand(source.slice(from, endOf(source, from, '`')), source, depth + 1)
}

/** Return the SQL statements and fragments of a source, expanded. */
const statementsIn = (text: string): readonly string[] =>
  [...text.matchAll(/\bsql`/g)].map(({ index }) => {
    const from = index + 4
    return expand(text.slice(from, endOf(text, from, '`')), text).replace(/\s+/g, ' ')
  })

/** Split a list at its top-level commas. It ends at a closing bracket, or at one of the words. */
const readList = (text: string, endWords: RegExp): readonly string[] => {
  const items = ['']
  let depth = 0
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index] ?? ''
    if (char === '(') depth += 1
    if (char === ')') depth -= 1
    if (depth < 0 || (depth === 0 && endWords.test(text.slice(index)))) break
    if (char === ',' && depth === 0) items.push('')
    else items[items.length - 1] += char
  }
  return items
}

const operandEnd = /^\s(?:and|or|where|order|group|limit|returning|then|else|from|on|for)\b/

const caseEnd = /^\send\b/

const clocksOf = (expression: string): readonly Clock[] => [
  ...(expression.includes(databaseToken) ? (['database'] as const) : []),
  ...(expression.includes(serviceToken) ? (['service'] as const) : []),
]

const tableBefore = (statement: string, index: number): string | null =>
  [...statement.slice(0, index).matchAll(/\b(?:from|update|into|join)\s+([a-z_]+)/g)].at(-1)?.[1] ?? null

type Use = { readonly table: string | null; readonly column: string; readonly clock: Clock }

/** Uses of columns in conditions and assignments. */
const comparedIn = (statement: string, columns: ReadonlySet<string>): readonly Use[] =>
  [...statement.matchAll(/\b(\w{1,60}) ?(?:<=|>=|=|<|>) ?/g)].flatMap(match => {
    const [text, column = ''] = match
    const rest = statement.slice(match.index + text.length)
    const [operand = ''] = readList(rest, rest.startsWith('case ') ? caseEnd : operandEnd)
    const reversed = /\b(\w{1,60})$/.exec(operand.trim().split(/\s/)[0] ?? '')?.[1] ?? ''
    const table = tableBefore(statement, match.index)
    return [
      ...(columns.has(column) ? clocksOf(operand).map(clock => ({ table, column, clock })) : []),
      ...(columns.has(reversed) ? clocksOf(column).map(clock => ({ table, column: reversed, clock })) : []),
    ]
  })

/** Uses of columns in inserted rows. A row can begin with `d.*`, so its values are counted from their end. */
const insertedIn = (statement: string, columns: ReadonlySet<string>): readonly Use[] =>
  [...statement.matchAll(/insert into ([a-z_]+)(?: as \w+)? \(([^)]*)\)\s*(?:values\s*\(|select\s)/g)].flatMap(
    match => {
      const names = (match[2] ?? '').split(',').map(name => name.trim())
      const values = readList(statement.slice(match.index + match[0].length), operandEnd)
      const skipped = names.length - values.length
      return names.flatMap((column, index) =>
        columns.has(column)
          ? clocksOf(values[index - skipped] ?? '').map(clock => ({ table: match[1] ?? null, column, clock }))
          : [],
      )
    },
  )

/** Return the columns with a time, by table, of the SQL files of the schema. */
export const timeColumns = (schema: readonly string[]): ReadonlyMap<string, ReadonlySet<string>> => {
  const tables = new Map<string, Set<string>>()
  const add = (table: string, column: string) => tables.set(table, (tables.get(table) ?? new Set()).add(column))
  for (const text of schema) {
    for (const [, table = '', body = ''] of text.matchAll(/create table (\w+) \(([\s\S]*?)\n\);/g))
      for (const [, column = ''] of body.matchAll(/^ {2}(\w{1,60}) timestamptz/gm)) add(table, column)
    for (const [, table = '', body = ''] of text.matchAll(/alter table (\w+)\s([^;]*)/g))
      for (const [, column = ''] of body.matchAll(/add column (\w+) timestamptz/g)) add(table, column)
  }
  return tables
}

/**
 * Find the clocks of each time column in the statements of the sources. A fragment without a table belongs to every
 * table of its file that has the column.
 */
export const columnClocks = (schema: readonly string[], sources: readonly SqlSource[]): ColumnClocks => {
  const tables = timeColumns(schema)
  const names = new Set([...tables.values()].flatMap(columns => [...columns]))
  const found = new Map<string, Record<Clock, string[]>>()
  for (const { path, text } of sources) {
    const mentioned = [...tables.keys()].filter(table =>
      new RegExp(`\\b(from|update|into|join) ${table}\\b`).test(text),
    )
    for (const statement of statementsIn(text)) {
      for (const { table, column, clock } of [...comparedIn(statement, names), ...insertedIn(statement, names)]) {
        const own = table !== null && tables.get(table)?.has(column) === true
        for (const owner of own ? [table] : mentioned.filter(one => tables.get(one)?.has(column) === true)) {
          const clocks = found.get(`${owner}.${column}`) ?? { database: [], service: [] }
          found.set(`${owner}.${column}`, clocks)
          if (!clocks[clock].includes(path)) clocks[clock].push(path)
        }
      }
    }
  }
  return found
}

/** Return the columns that are written by or compared with both clocks, with the files. */
export const mixedClocks = (clocks: ColumnClocks): readonly string[] =>
  [...clocks].flatMap(([column, { database, service }]) =>
    database.length > 0 && service.length > 0
      ? [`${column}: clock of the database in ${database}, of the service in ${service}`]
      : [],
  )
