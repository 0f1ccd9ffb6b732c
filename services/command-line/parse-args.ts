import { parseArgs } from 'node:util'
import { nearestName } from '../contract/message-text.ts'
import { type Command, type CommandInput, type CommandOption, missingOptions, UsageError } from './command.ts'

/** Options of every command. */
export const commonOptions: Readonly<Record<string, CommandOption>> = {
  json: { summary: 'Print the result as JSON.' },
  help: { summary: 'Show this help.' },
}

type ParsedArguments = Pick<CommandInput, 'operands' | 'options'> & {
  readonly isJson: boolean
  readonly isHelp: boolean
}

const andList = new Intl.ListFormat('en-GB')

const quotedList = (args: readonly string[]): string => args.map(arg => `"${arg}"`).join(', ')

/** Find the command that the first arguments name. Throws `UsageError`, which suggests the nearest command. */
export const findCommand = (
  commands: readonly Command[],
  args: readonly string[],
): { readonly command: Command; readonly remainingArgs: readonly string[] } => {
  for (const command of commands) {
    const names = command.name.split(' ')
    if (names.every((name, index) => args[index] === name)) return { command, remainingArgs: args.slice(names.length) }
  }
  const triedArgs = args.filter(arg => !arg.startsWith('-')).slice(0, 2)
  const nearest = nearestNameOf(
    triedArgs.join(' '),
    commands.map(({ name }) => name),
  )
  const hint = nearest === undefined ? '' : ` Did you mean "${nearest}"?`
  throw new UsageError(
    triedArgs.length === 0 ? 'A command is required.' : `Unknown command "${triedArgs.join(' ')}".${hint}`,
  )
}

const nearestNameOf = (arg: string, known: readonly string[]): string | undefined => {
  const names = new Map(known.map(name => [name.replaceAll(/[ -]/g, '_'), name]))
  return names.get(nearestName(arg.replaceAll(' ', '_'), [...names.keys()]) ?? '')
}

/** Write an option that can have no value as `--name=`, if the next argument does not have the form of its value. */
const withEmptyValues = (
  args: readonly string[],
  options: Readonly<Record<string, CommandOption>>,
): readonly string[] =>
  args.map((arg, index) => {
    const name = arg.slice(2)
    const form = arg.startsWith('--') && Object.hasOwn(options, name) ? options[name]?.valueForm : undefined
    return form === undefined || form.test(args[index + 1] ?? '') ? arg : `${arg}=`
  })

/** Parse the arguments after the command's name. Throws `UsageError` for unknown, missing and invalid arguments. */
export const parseArguments = (command: Command, remainingArgs: readonly string[]): ParsedArguments => {
  const options: Readonly<Record<string, CommandOption>> = { ...command.options, ...commonOptions }
  const parserOptions = Object.fromEntries(
    Object.entries(options).map(([name, { value }]) => [
      name,
      { type: value === undefined ? 'boolean' : 'string' } as const,
    ]),
  )
  const { tokens } = parseArgs({
    args: withEmptyValues(remainingArgs, options).map(arg => (arg === '-h' ? '--help' : arg)),
    options: parserOptions,
    strict: false,
    allowPositionals: true,
    tokens: true,
  })
  const operands: string[] = []
  const givenOptions = new Map<string, string>()
  for (const token of tokens) {
    if (token.kind === 'positional') operands.push(token.value)
    if (token.kind !== 'option') continue
    const [earlier, value] = [givenOptions.get(token.name), optionValue(token, options)]
    if (earlier !== undefined && options[token.name]?.isRepeatable !== true)
      throw new UsageError(`${token.rawName} is given twice. Give it once.`)
    givenOptions.set(token.name, earlier === undefined ? value : `${earlier}\n${value}`)
  }
  const isHelp = givenOptions.delete('help')
  const isJson = givenOptions.delete('json')
  if (!isHelp) refuseIncomplete(command, operands, givenOptions)
  return { operands, options: Object.fromEntries(givenOptions), isJson, isHelp }
}

type OptionToken = {
  readonly name: string
  readonly rawName: string
  readonly value?: string | undefined
  readonly inlineValue?: boolean | undefined
}

const optionValue = (
  { name, rawName, value, inlineValue }: OptionToken,
  options: Readonly<Record<string, CommandOption>>,
): string => {
  const option = Object.hasOwn(options, name) ? options[name] : undefined
  if (option === undefined) {
    const nearest = nearestNameOf(name, Object.keys(options))
    const hint = nearest === undefined ? '' : ` Did you mean --${nearest}?`
    throw new UsageError(`Unknown option "${rawName}".${hint}`)
  }
  if (option.value === undefined) {
    if (value !== undefined) throw new UsageError(`${rawName} does not take a value.`)
    return ''
  }
  if (option.valueForm !== undefined && value === '') return ''
  // A value that looks like an option probably means a forgotten value, unless "=" joins it to its option.
  if (value === undefined || value === '' || (value.startsWith('-') && inlineValue !== true)) {
    throw new UsageError(`${rawName} requires a value: ${rawName} ${option.value}.`)
  }
  if (option.choices !== undefined && !option.choices.includes(value)) {
    throw new UsageError(`${rawName} must be one of ${option.choices.join(', ')}, not "${value}".`)
  }
  return value
}

/** An operand such as `ID…` takes zero or more arguments. */
const isRepeated = (name: string): boolean => name.endsWith('…')

const refuseIncomplete = (
  command: Command,
  operands: readonly string[],
  givenOptions: ReadonlyMap<string, string>,
): void => {
  const requiredOperands = command.operands.filter(name => !isRepeated(name))
  const options = Object.fromEntries(givenOptions)
  const requiredOptions = Object.keys(command.options).filter(name => command.options[name]?.isRequired === true)
  const missing = new Set([
    ...requiredOperands.slice(operands.length),
    ...(command.missing?.({ operands, options }) ?? []),
    ...missingOptions(options, requiredOptions),
  ])
  if (missing.size > 0) throw new UsageError(`${andList.format(missing)} ${missing.size === 1 ? 'is' : 'are'} missing.`)
  if (operands.length > requiredOperands.length && !command.operands.some(isRepeated))
    throw new UsageError(`Unexpected arguments: ${quotedList(operands.slice(requiredOperands.length))}.`)
}
