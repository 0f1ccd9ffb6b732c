/** A command that cannot be read: the words are wrong, nothing was done. The message says which word, and what to write. */
export class UsageError extends Error {}

/** A command that was understood and could not be carried out; the message says why, for the person at the terminal. */
export class CommandError extends Error {}

export type CommandOption = {
  /** How help calls its value; a flag when absent. */
  readonly value?: string
  readonly summary: string
  readonly choices?: readonly string[]
  readonly isRequired?: boolean
}

/** What a command was given: operands in order, options by name, and where settings and the present come from. */
export type CommandInput = {
  readonly operands: readonly string[]
  readonly options: Readonly<Record<string, string | undefined>>
  readonly variables: Readonly<Record<string, string | undefined>>
  /** The present instant (ms). */
  readonly at: number
  /** Write a line of progress to the terminal; silent under `--json`. */
  readonly onProgress: (line: string) => void
}

/** What a command did: for people, for scripts, and whether it is well. */
export type CommandOutcome = { readonly text: string; readonly json: unknown; readonly ok: boolean }

export type Command = {
  /** The words that call it, such as `account create`. */
  readonly name: string
  /** How help calls its operands, in order; the last one, such as `ID…`, may stand for any number of words. */
  readonly operands: readonly string[]
  readonly summary: string
  readonly details: string
  readonly options: Readonly<Record<string, CommandOption>>
  readonly run: (input: CommandInput) => Promise<CommandOutcome>
}

export const success = (text: string, json: unknown): CommandOutcome => ({ text, json, ok: true })
