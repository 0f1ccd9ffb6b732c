import { writeInstant } from '../../domain/instant.ts'
import type { Config } from '../../platform/config/config.ts'
import { topics } from '../../platform/log/log.ts'
import {
  eraseObjects,
  findObjectsToErase,
  withReferencePlaceholders,
} from '../../platform/postgres/registry/erase-objects.ts'
import { type Erasure, findErasure, markErasure } from '../../platform/postgres/registry/erasures.ts'
import { withOperator } from '../../platform/postgres/transaction.ts'
import { auditKey } from '../audit.ts'
import { type Command, CommandError, success, UsageError } from '../command.ts'
import { withDatabase } from '../open-database.ts'
import { columns } from '../table.ts'
import { findAccount } from './account-commands.ts'

const dayMs = 86_400_000
/** Deliveries are attempted for five days, and attempts are kept for thirty. */
const attemptRetentionMs = 35 * dayMs

/** How long something of before can still stand in the log, among dead letters, events or delivery attempts. */
const eraseAgainMs = ({ logRetentionMs }: Config): number =>
  Math.max(attemptRetentionMs, logRetentionMs, ...Object.values(topics).map(({ retentionMs }) => retentionMs)) + dayMs

const idPattern = /^(cus|loc|dev|acc)_[0-9a-f]{24}$/

const kindOf = (objectId: string): string => {
  const kind = idPattern.exec(objectId)?.[1]
  if (kind === undefined)
    throw new UsageError(
      `"${objectId}" is no id of a customer, location, device or account (cus_…, loc_…, dev_…, acc_…)`,
    )
  return { cus: 'customer', loc: 'location', dev: 'device', acc: 'account' }[kind] ?? kind
}

/** Erase an object and everything that is known of it. */
export const eraseCommand: Command = {
  name: 'erase',
  operands: ['ID'],
  summary: 'Erase a customer, location, device or account for good.',
  details:
    'A customer goes with its locations, a location with its tariffs and records, a device with its records; an account with all of these in\none mode, its keys and settings apart. PostgreSQL forgets them at once, the lanes are told within seconds, and again every day until log,\ndead letters, events and delivery attempts have expired. Locations that lose energy of a device are costed again. This cannot be undone.',
  options: {
    account: { value: 'ACCOUNT', summary: 'Whose it is.', isRequired: true },
    mode: { value: 'MODE', summary: 'The world in which it is.', choices: ['live', 'test'], isRequired: true },
  },
  run: async input => {
    const { operands, options, at } = input
    const [objectId = ''] = operands
    const kind = kindOf(objectId)
    const tenant = { accountId: options['account'] ?? '', liveMode: options['mode'] === 'live' }
    if (kind === 'account' && objectId !== tenant.accountId)
      throw new UsageError('an account is erased by its own id: ID and --account differ')
    return withDatabase(input, { mayCreate: false }, (database, { config }) =>
      withOperator(database, async transaction => {
        await findAccount(transaction.query, tenant.accountId)
        const found =
          (await findObjectsToErase(transaction, tenant, objectId, at)) ??
          (await findErasure(transaction.query, tenant, objectId))
        if (found === null)
          throw new CommandError(`account ${tenant.accountId} has no ${kind} ${objectId} in ${options['mode']} mode`)
        const withShadows = await withReferencePlaceholders(transaction, tenant, found)
        const erasure: Erasure = { ...tenant, ...withShadows, requestedAt: at, until: at + eraseAgainMs(config) }
        await markErasure(transaction, erasure)
        await eraseObjects(transaction, tenant, found, at)
        const counts = { locations: found.locationIds.length, devices: found.deviceIds.length }
        await auditKey(transaction, tenant, { action: `${kind}.erase`, objectId, detail: counts, at })
        const rows = [
          ['erased', objectId],
          ['locations', String(counts.locations)],
          ['devices', String(counts.devices)],
          ['repeated until', writeInstant(erasure.until)],
        ]
        return success(columns(rows), { object_id: objectId, ...counts, until: writeInstant(erasure.until) })
      }),
    )
  },
}
