import sql from 'sql-template-tag'
import type { Query } from './database.ts'

/** Who alone may do a thing for a while. The epoch goes up with every change of holder. */
export type Lease = { readonly name: string; readonly holder: string; readonly epoch: number }

/**
 * Take a lease, or keep the one that is held, for `forMs` from now by the database's clock; null while another holds it.
 * Keeping it does not change the epoch; taking one that ran out does, so that what an earlier holder still writes can be told apart.
 */
export const takeLease = async (
  operator: Query,
  name: string,
  holder: string,
  durationMs: number,
): Promise<Lease | null> => {
  const until = sql`clock_timestamp() + ${durationMs} * interval '1 millisecond'`
  const { rows } = await operator<{ epoch: number }>(sql`
    insert into leases as held (name, holder, epoch, expires_at) values (${name}, ${holder}, 1, ${until})
    on conflict (name) do update set
      holder = excluded.holder, expires_at = excluded.expires_at,
      epoch = held.epoch + case when held.holder = excluded.holder and held.expires_at > clock_timestamp() then 0 else 1 end
      where held.holder = excluded.holder or held.expires_at <= clock_timestamp()
    returning epoch`)
  return rows[0] === undefined ? null : { name, holder, epoch: rows[0].epoch }
}

/** Give a lease back early; one that is another's by now stays. */
export const releaseLease = async (operator: Query, { name, holder, epoch }: Lease): Promise<void> => {
  await operator(
    sql`update leases set expires_at = clock_timestamp() where name = ${name} and holder = ${holder} and epoch = ${epoch}`,
  )
}

/** Tell, in the transaction of a write, whether a lease still holds; it then holds until that transaction ends. */
export const isLeaseValid = async (operator: Query, { name, holder, epoch }: Lease): Promise<boolean> => {
  const { rows } = await operator(sql`
    select 1 from leases where name = ${name} and holder = ${holder} and epoch = ${epoch} and expires_at > clock_timestamp() for share`)
  return rows.length > 0
}
