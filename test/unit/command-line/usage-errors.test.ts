import { describe, expect, it } from 'vitest'
import { commandsOf } from '../../../services/command-line/command.ts'
import { examples } from '../../../services/command-line/examples.ts'
import { findCommand, parseArguments } from '../../../services/command-line/parse-args.ts'
import { commandSubjects } from '../../../services/commands.ts'
import { runCommand } from '../../support/system/run-command.ts'

const commands = commandsOf(commandSubjects)

const nowhere = { WATTLEDGER_DATA_DIR: '/nonexistent/wattledger' }
const run = (args: readonly string[]) => runCommand(args, nowhere)

const named = commands.map(command => [command.name, command] as const)

/** Arguments of the example after the name of the command. */
const exampleArgs = (name: string): readonly string[] => (examples[name] ?? '').split(' ').slice(name.split(' ').length)

/** Return the arguments without one option and its value, or without all operands. */
const without = (args: readonly string[], missing: string): readonly string[] => {
  const at = args.indexOf(missing)
  return at < 0 ? [] : [...args.slice(0, at), ...args.slice(at + 2)]
}

describe('the example of a command', () => {
  it('exists for each command and for no other', () => {
    expect(Object.keys(examples).sort()).toEqual(commands.map(({ name }) => name).sort())
  })

  it.each(named)('%s has all required arguments', (name, command) => {
    const found = findCommand(commands, (examples[name] ?? '').split(' '))
    expect(found.command.name).toBe(name)
    expect(() => parseArguments(command, found.remainingArgs)).not.toThrow()
  })
})

describe('a usage error', () => {
  /** One error of each kind that a command can have. */
  const errorsOf = (name: string): readonly (readonly [args: readonly string[], fault: string])[] => {
    const { options } = findCommand(commands, name.split(' ')).command
    const args = exampleArgs(name)
    const chosen = Object.entries(options).filter(([, { choices }]) => choices !== undefined)
    return [
      [[...args, '--no-such-option'], 'Unknown option "--no-such-option"'],
      [[...args, '--json', '--json'], '--json is given twice'],
      ...chosen.map(([option]) => [[`--${option}`, 'zzz'], `--${option} must be one of`] as const),
    ]
  }

  it.each(named)('of %s names the fault and one example, not all options', async (name, { options }) => {
    for (const [args, fault] of errorsOf(name)) {
      const { code, out, err } = await run([...name.split(' '), ...args])
      expect([code, out, err]).toEqual([2, '', expect.stringContaining(fault)])
      const [first = '', ...hints] = err.trimEnd().split('\n')
      expect(hints).toEqual([
        `  Example: npx wattledger ${examples[name]}`,
        `  All options: npx wattledger ${name} --help`,
      ])
      const others = Object.keys(options).filter(option => !args.includes(`--${option}`))
      expect(others.filter(option => first.includes(`--${option} `))).toEqual([])
    }
  })

  it.each(named)('of %s names all missing operands and options at once', async (name, command) => {
    const args = exampleArgs(name)
    const required = args.filter(arg => arg.startsWith('--') && without(args, arg).length < args.length)
    const missing = required.filter(option => {
      try {
        parseArguments(command, without(args, option))
        return false
      } catch {
        return true
      }
    })
    const operands = command.operands.filter(operand => !operand.endsWith('…'))
    const file = command.operands.includes('FILE…') ? ['FILE'] : []
    const { code, err } =
      missing.length + operands.length + file.length === 0 ? { code: 2, err: '' } : await run(name.split(' '))
    expect(code).toBe(2)
    for (const one of [...operands, ...file, ...missing]) expect(err.split('\n')[0]).toContain(one)
  })

  it.each([
    [['export', 'records'], '--from, --to and --out are missing.'],
    [['export', 'records', '--session', 'S1'], '--out is missing.'],
    [['export', 'tariffs', '--format', 'urdb'], '--location and --out are missing.'],
    [
      ['export', 'costs', '--format', 'ocpi-cdr-2.2.1'],
      '--from, --to, --out and --frame (a JSON file with party, token and location) are missing.',
    ],
    [['import', 'tariffs'], 'FILE and --location are missing.'],
    [['schedule'], 'LOCATION, --device, --energy and --power are missing.'],
    [['erase'], 'ID, --account and --mode are missing.'],
  ])('%j: %s', async (args, message) => {
    expect((await run(args)).err.split('\n')[0]).toBe(`wattledger: ${message}`)
  })
})
