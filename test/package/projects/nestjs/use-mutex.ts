import { Inject } from '@nestjs/common';
import { LockProvider } from 'leasehold';
import type { AcquireOptions } from 'leasehold';

const LOCKS = Symbol('locks');

type Method<A extends unknown[], R> = (...args: A) => Promise<R>;

/**
 * Runs a method of a provider under a mutex: `@UseMutex((id: string) => `order:${id}`)`. The name is made from the
 * arguments of the call. The call rejects with a `LockLostError` if the lock is lost before the method has ended.
 */
export function UseMutex<A extends unknown[]>(nameOf: (...args: A) => string, options?: AcquireOptions) {
  return function decorate<R>(
    target: object,
    _: string | symbol,
    descriptor: TypedPropertyDescriptor<Method<A, R>>,
  ): void {
    const method = descriptor.value;
    if (method === undefined) throw new TypeError('UseMutex decorates methods only');
    Inject(LockProvider)(target, LOCKS);
    descriptor.value = function locked(this: { readonly [LOCKS]: LockProvider }, ...args: A): Promise<R> {
      return this[LOCKS].useMutex(nameOf(...args), () => method.apply(this, args), options);
    };
  };
}
