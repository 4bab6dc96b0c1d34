import { fencedUpdateOne } from 'leasehold';
import type { LockProvider } from 'leasehold';
import mongoose from 'mongoose';

export const Product = mongoose.model(
  'Product',
  new mongoose.Schema({ sku: { type: String, required: true }, inStock: { type: Number, required: true } }),
);

/**
 * Sells some of a product. One sale of a product runs at a time, in all processes. If this process loses the lock, the
 * token refuses its write after a newer holder has written.
 *
 * @returns How many are left.
 */
export async function sell(locks: LockProvider, sku: string, count: number): Promise<number> {
  return await locks.useMutex(
    `product:${sku}`,
    async (lock) => {
      const product = await Product.findOne({ sku }).orFail();
      const left = product.inStock - count;
      if (left < 0) throw new RangeError(`only ${String(product.inStock)} of ${sku} are left`);
      // The collection of the model: Mongoose would refuse the field of the token, which its schema does not have.
      await fencedUpdateOne(Product.collection, { _id: product._id }, { $set: { inStock: left } }, lock);
      return left;
    },
    { timeoutMs: 10_000, why: `sale of ${String(count)}` },
  );
}
