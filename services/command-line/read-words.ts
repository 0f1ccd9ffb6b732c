import { parseArgs } from 'node:util'
import { nearestName } from '../contract/nearest-name.ts'
import { type Command, type Input, type Option, UsageError } from './command.ts'

/** Options that every command takes. */
export const commonOptions: Readonly<Record<string, Option>> = {
  json: { summary: 'Write the result as JSON, for scripts.' },
  help: { summary: 'Show this help.' },
}

type Words = Pick<Input, 'operands' | 'options'> & { readonly isJson: boolean; readonly isHelp: boolean }

const quoted = (words: readonly string[]): string => words.map(word => `"${word}"`).join(', ')

/** Find the command that the first words name, and the words that are left. Throws `UsageError`, naming what may be meant. */
export const findCommand = (
  commands: readonly Command[],
  words: readonly string[],
): { readonly command: Command; readonly rest: readonly string[] } => {
  for (const command of commands) {
    const names = command.name.split(' ')
    if (names.every((name, place) => words[place] === name)) return { command, rest: words.slice(names.length) }
  }
  const tried = words.filter(word => !word.startsWith('-')).slice(0, 2)
  const nearest = nearestOf(
    tried.join(' '),
    commands.map(({ name }) => name),
  )
  const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
  throw new UsageError(tried.length === 0 ? 'name a command' : `"${tried.join(' ')}" is no command${hint}`)
}

const nearestOf = (word: string, known: readonly string[]): string | undefined => {
  const names = new Map(known.map(name => [name.replaceAll(/[ -]/g, '_'), name]))
  return names.get(nearestName(word.replaceAll(' ', '_'), [...names.keys()]) ?? '')
}

/** Read the words after a command's name. Throws `UsageError` for what the command does not take, lacks, or cannot use. */
export const readWords = (command: Command, rest: readonly string[]): Words => {
  const options: Readonly<Record<string, Option>> = { ...command.options, ...commonOptions }
  const settings = Object.fromEntries(
    Object.entries(options).map(([name, { value }]) => [name, { type: value === undefined ? 'boolean' : 'string' } as const]),
  )
  const { tokens } = parseArgs({
    args: rest.map(word => (word === '-h' ? '--help' : word)),
    options: settings,
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const operands: string[] = []
  const given = new Map<string, string>()
  for (const token of tokens) {
    if (token.kind === 'positional') operands.push(token.value)
    if (token.kind !== 'option') continue
    if (given.has(token.name)) throw new UsageError(`${token.rawName} is given twice`)
    given.set(token.name, givenValue(token, options))
  }
  const isHelp = given.delete('help')
  const isJson = given.delete('json')
  if (!isHelp) refuseIncomplete(command, operands, given)
  return { operands, options: Object.fromEntries(given), isJson, isHelp }
}

type OptionToken = {
  readonly name: string
  readonly rawName: string
  readonly value?: string | undefined
  readonly inlineValue?: boolean | undefined
}

const givenValue = ({ name, rawName, value, inlineValue }: OptionToken, options: Readonly<Record<string, Option>>): string => {
  const option = Object.hasOwn(options, name) ? options[name] : undefined
  if (option === undefined) {
    const nearest = nearestOf(name, Object.keys(options))
    throw new UsageError(`${rawName} is no option of this command${nearest === undefined ? '' : `; did you mean --${nearest}?`}`)
  }
  if (option.value === undefined) {
    if (value !== undefined) throw new UsageError(`${rawName} takes no value`)
    return ''
  }
  // A value that looks like an option is taken for a forgotten value, unless it is tied to its option by "=".
  if (value === undefined || value === '' || (value.startsWith('-') && inlineValue !== true)) {
    throw new UsageError(`${rawName} needs a value: ${rawName} ${option.value}`)
  }
  if (option.choices !== undefined && !option.choices.includes(value)) {
    throw new UsageError(`${rawName} is one of ${option.choices.join(', ')}, not "${value}"`)
  }
  return value
}

/** An operand such as `ID…` stands for any number of words, none included. */
const isRepeated = (name: string): boolean => name.endsWith('…')

const refuseIncomplete = (command: Command, operands: readonly string[], given: ReadonlyMap<string, string>): void => {
  const wanted = command.operands.filter(name => !isRepeated(name))
  const missing = wanted.slice(operands.length)
  if (missing.length > 0) throw new UsageError(`${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} missing`)
  if (operands.length > wanted.length && !command.operands.some(isRepeated))
    throw new UsageError(`${quoted(operands.slice(wanted.length))} is too much`)
  for (const [name, { required }] of Object.entries(command.options)) {
    if (required && !given.has(name)) throw new UsageError(`--${name} is missing`)
  }
}
