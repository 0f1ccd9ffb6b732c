import sql from 'sql-template-tag'
import { hasRow, type Query } from './database.ts'

/** Exclusive right to a task for a limited time. The epoch rises with every change of the holder. */
export type Lease = { readonly name: string; readonly holder: string; readonly epoch: number }

/**
 * Take a lease or extend it for `durationMs`, by the clock of the database. Null if another process has it. A lease with
 * more than twice the time left is free too: the clock of the database went back. An extension keeps the epoch. Taking an expired lease raises the epoch, which identifies late writes of the earlier
 * holder.
 */
export const takeLease = async (
  operator: Query,
  name: string,
  holder: string,
  durationMs: number,
): Promise<Lease | null> => {
  const until = sql`clock_timestamp() + ${durationMs} * interval '1 millisecond'`
  const tooLate = sql`clock_timestamp() + ${2 * durationMs} * interval '1 millisecond'`
  const { rows } = await operator<{ epoch: number }>(sql`
    insert into leases as lease (name, holder, epoch, expires_at) values (${name}, ${holder}, 1, ${until})
    on conflict (name) do update set
      holder = excluded.holder, expires_at = excluded.expires_at,
      epoch = lease.epoch + case when lease.holder = excluded.holder and lease.expires_at > clock_timestamp() then 0
        else 1 end
      where lease.holder = excluded.holder or lease.expires_at <= clock_timestamp() or lease.expires_at > ${tooLate}
    returning epoch`)
  return rows[0] === undefined ? null : { name, holder, epoch: rows[0].epoch }
}

/** Release a lease early. A lease that another process has taken stays unchanged. */
export const releaseLease = async (operator: Query, { name, holder, epoch }: Lease): Promise<void> => {
  await operator(sql`
    update leases set expires_at = clock_timestamp() where name = ${name} and holder = ${holder} and epoch = ${epoch}`)
}

/**
 * Return true if a lease is valid, in the transaction of a write. The lease then stays valid until the transaction
 * ends.
 */
export const isLeaseValid = (operator: Query, { name, holder, epoch }: Lease): Promise<boolean> =>
  hasRow(operator)(sql`
    select 1 from leases where name = ${name} and holder = ${holder} and epoch = ${epoch}
      and expires_at > clock_timestamp() for share`)
