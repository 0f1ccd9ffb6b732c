import { writeInstant } from '../../domain/instant.ts'
import {
  type AuditHead,
  type ChainVerification,
  readAudit,
  readAuditHeads,
  verifyAuditChain,
} from '../../platform/postgres/registry/audit-log.ts'
import { type Command, CommandError, type CommandInput, success, UsageError } from '../command.ts'
import { withDatabase } from '../open-database.ts'
import { table } from '../table.ts'
import { findAccount } from './account-commands.ts'

const maxListed = 1_000

const modeOf = (liveMode: boolean): string => (liveMode ? 'live' : 'test')

const readLimit = (text: string | undefined): number => {
  const limit = Number(text ?? '50')
  if (!Number.isInteger(limit) || limit < 1 || limit > maxListed)
    throw new UsageError(`--limit must be a whole number from 1 to ${maxListed}.`)
  return limit
}

const listCommand: Command = {
  name: 'audit-log list',
  operands: ['ACCOUNT'],
  summary: 'List the newest audit entries of an account.',
  details: [
    'Shows changes of keys, webhook endpoints, tariffs and settings, and deletions. --json includes the details.',
  ],
  options: {
    mode: { value: 'MODE', summary: 'Mode of the entries.', choices: ['live', 'test'], isRequired: true },
    limit: { value: 'COUNT', summary: `Number of entries, up to ${maxListed}. Default: 50.` },
  },
  run: input => {
    const limit = readLimit(input.options['limit'])
    return withDatabase(input, { mayCreate: false }, async ({ operator }) => {
      const account = await findAccount(operator, input.operands[0] ?? '')
      const tenant = { accountId: account.id, liveMode: input.options['mode'] === 'live' }
      const entries = await readAudit({ ...tenant, query: operator }, limit)
      const rows = entries.map(({ at, actor, action, objectId }) => [writeInstant(at), actor, action, objectId ?? ''])
      const json = entries.map(({ at, actor, action, objectId, detail }) => ({
        time_created: writeInstant(at),
        actor,
        action,
        object_id: objectId,
        detail,
      }))
      return success(table(['time', 'actor', 'action', 'object'], rows, 'No audit entries yet.'), json)
    })
  },
}

type VerifiedChain = { readonly head: AuditHead; readonly chain: ChainVerification }

const chainToJson = ({ head, chain: { entries, hash, faults } }: VerifiedChain) => ({
  account_id: head.accountId,
  live_mode: head.liveMode,
  entries,
  hash,
  faults: faults.map(({ entryNumber: place, problem: what }) => ({ place, what })),
})

const headsOf = async (
  input: CommandInput,
  read: (accountId: string | null) => Promise<readonly AuditHead[]>,
): Promise<readonly AuditHead[]> => {
  const { account, holds } = input.options
  const heads = await read(account ?? null)
  if (account !== undefined && heads.length === 0) throw new CommandError(`Account ${account} has no audit entries.`)
  if (holds !== undefined && !/^[0-9a-f]{64}$/.test(holds))
    throw new UsageError('--holds must be a hash of an earlier run: 64 hexadecimal digits.')
  return heads
}

const verifyCommand: Command = {
  name: 'audit-log verify',
  operands: [],
  summary: 'Verify that no audit entry was changed or removed.',
  details: [
    'The entries of each account and mode form a hash chain. The command recalculates it and lists changed entries.',
    'Save the last hash in another place. --holds verifies later that a chain still contains it.',
  ],
  options: {
    account: { value: 'ACCOUNT', summary: 'Account of the chains. Default: all accounts.' },
    holds: { value: 'HASH', summary: 'Hash of an earlier run. One of the chains must contain it.' },
  },
  run: input =>
    withDatabase(input, { mayCreate: false }, async ({ operator }) => {
      const verified: VerifiedChain[] = []
      const wantedHash = input.options['holds'] ?? null
      for (const head of await headsOf(input, account => readAuditHeads(operator, account))) {
        verified.push({ head, chain: await verifyAuditChain(operator, head, wantedHash) })
      }
      const isHashFound = wantedHash === null || verified.some(({ chain }) => chain.hasExpectedHash)
      const isValid = isHashFound && verified.every(({ chain }) => chain.faults.length === 0)
      const rows = verified.map(({ head, chain }) => [
        head.accountId,
        modeOf(head.liveMode),
        String(chain.entries),
        chain.hash,
      ])
      const faults = verified.flatMap(({ head, chain }) =>
        chain.faults.map(({ problem: what }) => `${head.accountId} ${modeOf(head.liveMode)}: ${what}`),
      )
      const missingHash = isHashFound ? [] : [`No chain contains ${wantedHash}.`]
      const verdict = isValid ? 'All entries are unchanged.' : [...faults, ...missingHash].join('\n')
      const chains = table(['account', 'mode', 'entries', 'last hash'], rows, 'No audit entries yet.')
      return {
        text: `${chains}\n\n${verdict}`,
        json: { chains: verified.map(chainToJson), holds: isHashFound },
        ok: isValid,
      }
    }),
}

export const auditLogCommands: readonly Command[] = [listCommand, verifyCommand]
