import { writeInstant } from '../../domain/instant.ts'
import { dayMs } from '../../domain/interval.ts'
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

/** Deliveries are attempted for 5 days, and attempts are retained for 30 days. */
const attemptRetentionMs = 35 * dayMs

/** Maximum age in ms of data in the log, dead letters, events and delivery attempts. */
const eraseAgainMs = ({ logRetentionMs }: Config): number =>
  Math.max(attemptRetentionMs, logRetentionMs, ...Object.values(topics).map(({ retentionMs }) => retentionMs)) + dayMs

const idPattern = /^(cus|loc|dev|usr|acc)_[0-9a-f]{24}$/

const kindOf = (objectId: string): string => {
  const kind = idPattern.exec(objectId)?.[1]
  if (kind === undefined)
    throw new UsageError(
      `"${objectId}" is not the id of a customer, location, device, user or account (cus_…, loc_…, dev_…, usr_…, acc_…).`,
    )
  return { cus: 'customer', loc: 'location', dev: 'device', usr: 'user', acc: 'account' }[kind] ?? kind
}

/** Erase an object and all its data. */
export const eraseCommand: Command = {
  name: 'erase',
  operands: ['ID'],
  summary: 'Erase an object or an account permanently.',
  details: [
    'A customer is erased with its locations, a location with its tariffs and records, a device with its records.',
    'A user of the console is erased with its sessions. The audit log keeps the id of the user only.',
    'An account is erased in one mode with all of these. Its keys and settings remain.',
    'PostgreSQL deletes the data at once. The partitions receive an erase request within seconds, and again every day',
    'until log, dead letters, events and delivery attempts have expired.',
    'Costs of locations that lose device energy are recalculated. An erasure cannot be undone.',
  ],
  options: {
    account: { value: 'ACCOUNT', summary: 'Account of the object.', isRequired: true },
    mode: { value: 'MODE', summary: 'Mode of the object.', choices: ['live', 'test'], isRequired: true },
  },
  run: async input => {
    const { operands, options } = input
    const [objectId = ''] = operands
    const kind = kindOf(objectId)
    const tenant = { accountId: options['account'] ?? '', liveMode: options['mode'] === 'live' }
    if (kind === 'account' && objectId !== tenant.accountId)
      throw new UsageError('ID and --account must be equal to erase an account.')
    return withDatabase(input, { mayCreate: false }, (database, { config, at }) =>
      withOperator(database, async transaction => {
        await findAccount(transaction.query, tenant.accountId)
        const found =
          (await findObjectsToErase(transaction, tenant, objectId, at)) ??
          (await findErasure(transaction.query, tenant, objectId))
        if (found === null)
          throw new CommandError(`Account ${tenant.accountId} has no ${kind} ${objectId} in ${options['mode']} mode.`)
        const objects = await withReferencePlaceholders(transaction, tenant, found)
        const erasure: Erasure = { ...tenant, ...objects, requestedAt: at, until: at + eraseAgainMs(config) }
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
