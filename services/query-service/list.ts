import { listAnswer, type PageRequest, pageRequest } from '../contract/list.ts'
import type { Operation, RequestOf } from '../contract/operation.ts'
import { accepted, type Result } from '../domain/refusal.ts'
import type { Page } from '../platform/postgres/page.ts'
import { type TenantTransaction, withTenant } from '../platform/postgres/transaction.ts'
import { tenantOf } from './change.ts'
import type { QueryServiceDependencies } from './dependencies.ts'

type ListQuery = Parameters<typeof pageRequest>[0]

/**
 * Answer a list of the caller's records. `read` loads one page; `write` converts its items to JSON objects.
 * Refuses what `read` refuses.
 */
export const answerList = async <Item, Wire>(
  { database }: Pick<QueryServiceDependencies, 'database'>,
  request: Pick<RequestOf<Operation>, 'caller'> & { readonly query: ListQuery },
  url: string,
  read: (transaction: TenantTransaction, page: PageRequest) => Promise<Result<Page<Item>>>,
  write: (items: readonly Item[]) => readonly Wire[] | Promise<readonly Wire[]>,
): Promise<Result<ReturnType<typeof listAnswer<Wire>>>> => {
  const page = await withTenant(database, tenantOf(request), transaction =>
    read(transaction, pageRequest(request.query)),
  )
  if (!page.ok) return page
  return accepted(listAnswer(url, { items: await write(page.value.items), hasMore: page.value.hasMore }))
}

/** Answer one of the caller's records. `missing`: refusal if there is none. */
export const answerOne = async <Item, Wire>(
  { database }: Pick<QueryServiceDependencies, 'database'>,
  request: Pick<RequestOf<Operation>, 'caller' | 'id'>,
  read: (transaction: TenantTransaction, id: string) => Promise<Item | null>,
  missing: Result<never>,
  write: (item: Item) => Wire | Promise<Wire>,
): Promise<Result<Wire>> => {
  const item = await withTenant(database, tenantOf(request), transaction => read(transaction, request.id))
  return item === null ? missing : accepted(await write(item))
}
