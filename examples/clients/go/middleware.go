// Package ratelimit is a net/http middleware with redigo: API key first, address second. NOT RUN by our tests.
package ratelimit

import (
	"fmt"
	"net"
	"net/http"
	"strconv"

	"github.com/gomodule/redigo/redis"
)

// Limit is max_burst, count and period in seconds.
type Limit struct{ Burst, Count, Period int }

// Middleware limits requests before next.
func Middleware(pool *redis.Pool, perKey, perAddress Limit, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, key, limit := "key", "api-key:"+r.Header.Get("X-API-Key"), perKey
		if r.Header.Get("X-API-Key") == "" {
			host, _, _ := net.SplitHostPort(r.RemoteAddr)
			name, key, limit = "address", "address:"+host, perAddress
		}
		conn := pool.Get()
		defer conn.Close()
		reply, err := redis.Int64s(conn.Do("CL.THROTTLE", key, limit.Burst, limit.Count, limit.Period))
		if err != nil || len(reply) != 5 {
			// No decision is never a grant.
			w.Header().Set("Retry-After", "1")
			http.Error(w, "no decision on the rate limit", http.StatusServiceUnavailable)
			return
		}
		limited, wait := reply[0] == 1, reply[4]
		if limited {
			wait = reply[3]
		}
		window := max(1, ((limit.Burst+1)*limit.Period+limit.Count-1)/limit.Count)
		w.Header().Set("RateLimit-Policy", fmt.Sprintf("%q;q=%d;w=%d", name, reply[1], window))
		w.Header().Set("RateLimit", fmt.Sprintf("%q;r=%d;t=%d", name, reply[2], wait))
		w.Header().Set("X-RateLimit-Limit", strconv.FormatInt(reply[1], 10))
		w.Header().Set("X-RateLimit-Remaining", strconv.FormatInt(reply[2], 10))
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(reply[4], 10))
		if limited {
			w.Header().Set("Retry-After", strconv.FormatInt(max(1, reply[3]), 10))
			w.Header().Set("Cache-Control", "no-store")
			http.Error(w, "rate limit exceeded", http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	})
}
