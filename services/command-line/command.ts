export { UsageError } from '../platform/failure.ts'

/** The arguments are correct, but the command failed. The message gives the reason to the user. */
export class CommandError extends Error {}

export type CommandOption = {
  /** Name of the value in the help; undefined for a flag. */
  readonly value?: string
  readonly summary: string
  /** The option can be given several times. Its value has a line for each. */
  readonly isRepeatable?: true
  readonly choices?: readonly string[]
  readonly isRequired?: boolean
  /** Form of the value, if the option can have none. The value of the option alone is empty. */
  readonly valueForm?: RegExp
}

/** Input of a command: operands in order, options by name, environment variables and the current time. */
export type CommandInput = {
  readonly operands: readonly string[]
  readonly options: Readonly<Record<string, string | undefined>>
  readonly variables: Readonly<Record<string, string | undefined>>
  /** Current time of this machine in ms. Commands that open the database use its clock. */
  readonly at: number
  /** Write a line of progress to the terminal; with `--json` it writes nothing. */
  readonly onProgress: (line: string) => void
  /** Standard error for progress that is written again and again; each text includes its line ends. */
  readonly status: { readonly write: (text: string) => void; readonly isTerminal: boolean }
  /** Ask a person and return whether the answer is yes; null without a terminal. */
  readonly confirm: ((question: string) => Promise<boolean>) | null
}

/**
 * Result of a command: text for users, JSON for scripts, and false in `ok` if the exit code must be 1.
 * `exitCode` replaces the exit code of `ok`.
 */
export type CommandOutcome = {
  readonly text: string
  readonly json: unknown
  readonly ok: boolean
  readonly exitCode?: number
}

export type Command = {
  /** Arguments that select the command, such as `account create`. */
  readonly name: string
  /** Names of the operands in the help, in order. A last name such as `ID…` takes any number of arguments. */
  readonly operands: readonly string[]
  readonly summary: string
  /** Lines of the help below the usage. */
  readonly details: readonly string[]
  readonly options: Readonly<Record<string, CommandOption>>
  /** Names of operands and options that are missing in an input, besides the required ones, such as FILE or --from. */
  readonly missing?: (input: Pick<CommandInput, 'operands' | 'options'>) => readonly string[]
  readonly run: (input: CommandInput) => Promise<CommandOutcome>
}

/** Return the names of the options that are not given, as the user writes them. */
export const missingOptions = (options: CommandInput['options'], names: readonly string[]): readonly string[] =>
  names.filter(name => options[name] === undefined).map(name => `--${name}`)

/** Return FILE if no file is given. */
export const missingFile = ({ operands }: Pick<CommandInput, 'operands'>): readonly string[] =>
  operands.length === 0 ? ['FILE'] : []

export const success = (text: string, json: unknown): CommandOutcome => ({ text, json, ok: true })

/** Commands with the same first word. `summary` is required if the group has several commands. */
export type CommandGroup = {
  readonly name: string
  readonly summary?: string
  readonly commands: readonly [Command, ...Command[]]
}

/** Groups of commands that the help shows together. */
export type CommandSubject = { readonly subject: string; readonly groups: readonly CommandGroup[] }

/** List the commands of all subjects. */
export const commandsOf = (subjects: readonly CommandSubject[]): readonly Command[] =>
  subjects.flatMap(({ groups }) => groups.flatMap(({ commands }) => commands))
